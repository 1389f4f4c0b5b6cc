package main

import (
	"hash/fnv"
	"io"
	"math/rand/v2"
)

// An fnv1a is one of the hashes FNV-1a. It takes a byte by
//
//	state = (state ^ byte) * prime
//
// Since the exclusive or reaches only the lowest byte of the state, and can
// make any byte of it, this is (state + e) * prime, for an e that the choice of
// the byte determines. After a block of eight the state is
//
//	state*prime^8 + e1*prime^8 + e2*prime^7 + … + e8*prime
//
// and a block whose e differ from these by d1 … d8 leads to the same state,
// from any state, if d1*prime^7 + … + d8 is 0 modulo 2^bits. The solutions form
// a lattice. Reduction (A. Lenstra, H. Lenstra, L. Lovász, Mathematische
// Annalen 261, 1982) finds one at once that is so short that the e stay within
// a byte.
type fnv1a struct {
	offset, prime uint64
	// mask has as many bits as the state.
	mask uint64
	// short is a short vector of the lattice.
	short [fnvBlock]int
}

const fnvBlock = 8

var (
	fnv1a32 = fnv1a{
		offset: 2166136261, prime: 16777619, mask: 1<<32 - 1,
		short: [fnvBlock]int{1, -2, 1, -4, -4, -2, 6, 4},
	}
	fnv1a64 = fnv1a{
		offset: 14695981039346656037, prime: 1099511628211, mask: 1<<64 - 1,
		short: [fnvBlock]int{-131, 138, 113, -44, 58, -28, -54, 16},
	}
)

// blockPair has two blocks that lead from one state to the same next state.
type blockPair [2][fnvBlock]byte

// fnvBlocks is the number of blocks of a key: enough for a million keys.
const fnvBlocks = 20

// keys returns n different strings of 160 bytes that all have one hash, up to
// 2^20 of them. Each consists of 20 blocks, and has one or the other of a pair
// in each place: 2^20 collisions for the price of 20 (A. Joux, CRYPTO 2004).
func (f fnv1a) keys(n int) []string {
	pairs := f.pairs()
	keys := make([]string, n)
	for i := range keys {
		var key [fnvBlocks * fnvBlock]byte
		for place, pair := range pairs {
			copy(key[place*fnvBlock:], pair[i>>place&1][:])
		}
		keys[i] = string(key[:])
	}
	return keys
}

// pairs returns pairs of blocks for one place after the other.
func (f fnv1a) pairs() (pairs [fnvBlocks]blockPair) {
	random, state := seeded(), f.offset
	for place := range pairs {
		pairs[place], state = f.pair(state, random)
	}
	return pairs
}

// seeded returns the same random numbers in every run.
func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// pair returns a pair of blocks for a state, and the state to which both lead.
func (f fnv1a) pair(state uint64, random *rand.Rand) (blockPair, uint64) {
	const enough = 1000 // one try in a few succeeds
	for range enough {
		if pair, next, ok := f.tryPair(state, random); ok {
			return pair, next
		}
	}
	panic("adversary: no pair of blocks found: the vector is none of the lattice, or not short")
}

// tryPair draws the first block so that the second may exist. It fails if a
// byte of the second does not exist.
func (f fnv1a) tryPair(state uint64, random *rand.Rand) (pair blockPair, next uint64, ok bool) {
	a, b := state, state
	for i, d := range f.short {
		// The lowest byte of a becomes low, that of b becomes low + between.
		between := int(b&255) - int(a&255) + d
		least, most := max(0, -between), min(255, 255-between)
		if least > most {
			return pair, 0, false
		}
		low := least + random.IntN(most-least+1)
		pair[0][i], a = f.lowByte(a, byte(low))
		pair[1][i], b = f.lowByte(b, byte(low+between))
	}
	return pair, a, a == b
}

// lowByte returns the byte of input that gives the state this lowest byte, and
// the state after it.
func (f fnv1a) lowByte(state uint64, low byte) (input byte, next uint64) {
	return byte(state) ^ low, (state&^255 | uint64(low)) * f.prime & f.mask
}

func fnv64(key string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, key) // a hash never fails to write
	return h.Sum64()
}

func fnv32(key string) uint64 {
	h := fnv.New32a()
	io.WriteString(h, key)
	return uint64(h.Sum32())
}
