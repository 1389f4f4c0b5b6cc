package main

import "hash/maphash"

// A tally is a sum over events by which two counts of them can be compared: the
// number of events, and a checksum that depends on the count of each key, but
// not on the order. The checksum is the sum of the hashes of the keys. The
// readers add one event at a time, and the database adds one row at a time
// (count times hash). The seed of the hash is new in each process. An event
// that is lost, doubled or counted with another key goes unnoticed with a
// probability of about 1 in 2^64.
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

// plus returns the sum of two tallies.
func (t tally) plus(u tally) tally {
	return tally{t.events + u.events, t.checksum + u.checksum}
}
