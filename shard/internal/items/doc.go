// Package items has the entries of a shard: what happens to an item ([Entry.Step], a
// table of states and events), the index that finds an entry by a hash, and the slab
// that it is in. Ids name entries. What only some items need is beside them, in a
// [Column].
//
// Nothing here takes a lock, reads a clock or knows the shard: it is called with the
// shard's lock held. Only [TypeOf], [KeyOf], [KeysOf] and [Of] know the type of the
// items, so that all else is compiled once. An entry is free while it is idle and not
// delayed.
package items
