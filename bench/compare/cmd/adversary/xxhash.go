package main

import (
	"encoding/binary"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// These are two of the constants of xxHash64. They are variables because their
// sum overflows.
var (
	xxPrime1 uint64 = 11400714785074694791
	xxPrime2 uint64 = 14029467366897019727
)

// xxhash64Keys returns n different strings of 64 bytes that all have one
// xxhash64.
//
// The hash takes the first eight bytes of each stripe of 32 into a lane by
//
//	lane = rotate(lane + word*prime2, 31) * prime1
//
// and prime2 is odd, so it has an inverse modulo 2^64. So the first stripe may
// hold anything: a word for the second can be computed that returns the lane to
// its value for all other keys.
func xxhash64Keys(n int) []string {
	undo := inverse(xxPrime2)
	keys := make([]string, n)
	for i := range keys {
		var key [64]byte
		word := uint64(i)
		lane := bits.RotateLeft64(xxPrime1+xxPrime2+word*xxPrime2, 31) * xxPrime1
		binary.LittleEndian.PutUint64(key[:], word)
		binary.LittleEndian.PutUint64(key[32:], -lane*undo) // makes lane + word*prime2 zero
		keys[i] = string(key[:])
	}
	return keys
}

// inverse returns the x for which odd*x is 1 modulo 2^64, by Newton's method:
// each step doubles the number of correct bits, and odd itself has three.
func inverse(odd uint64) uint64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

func xxhash64(key string) uint64 { return xxhash.Sum64String(key) }
