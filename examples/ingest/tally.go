package main

import "hash/maphash"

// A tally sums up events so that two accounts of them can be compared: the
// number of events, and a checksum that depends on how many there are of each
// key, but not on their order. It is the sum over the events of a hash of the
// key, so it can be added up one event at a time by those who read, and one row
// at a time (count times hash) from the database. The hash is seeded anew in
// each process: an event that is lost, doubled or counted under another key goes
// unnoticed with a chance of about 1 in 2^64.
type tally struct {
	events   uint64
	checksum uint64
}

// keySeed makes [hashKey] differ from process to process.
var keySeed = maphash.MakeSeed()

// hashKey returns the hash of a key, which it does not keep.
func hashKey(key []byte) uint64 { return maphash.Bytes(keySeed, key) }

// hashKeyString is [hashKey] of the key's bytes.
func hashKeyString(key string) uint64 { return maphash.String(keySeed, key) }

// add counts events of the key with the hash.
func (t *tally) add(count, hash uint64) {
	t.events += count
	t.checksum += count * hash
}

// plus returns the tally of the events of both.
func (t tally) plus(u tally) tally {
	return tally{t.events + u.events, t.checksum + u.checksum}
}
