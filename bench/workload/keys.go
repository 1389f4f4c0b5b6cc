package workload

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"
)

// Strings returns n different keys of 30 bytes, as controllers have them.
func Strings(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%04d/object-%08d", i%1000, i)
	}
	return keys
}

// newRandom makes every stream the same in every run.
func newRandom() *rand.Rand { return rand.New(rand.NewPCG(20240229, 20240229)) }

// Shuffled returns a copy of the keys in random order.
func Shuffled(keys []string) []string {
	shuffled := slices.Clone(keys)
	newRandom().Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return shuffled
}

// Delays returns n delays that are spread evenly over (0, within].
func Delays(n int, within time.Duration) []time.Duration {
	random := newRandom()
	delays := make([]time.Duration, n)
	for i := range delays {
		delays[i] = 1 + time.Duration(random.Int64N(int64(within)))
	}
	return delays
}

// A Stream repeats a sequence of keys. Its length is a power of two.
type Stream []string

// At returns the key at position i of the endless sequence.
func (s Stream) At(i int) string { return s[i&(len(s)-1)] }

// Uniform returns a stream that draws every key with the same probability.
func Uniform(keys []string) Stream {
	random := newRandom()
	return fill(keys, func() int { return random.IntN(len(keys)) })
}

// Zipf returns a stream that draws the k-th most frequent key with a
// probability proportional to (k+1)^-1.1.
func Zipf(keys []string) Stream {
	zipf := rand.NewZipf(newRandom(), 1.1, 1, uint64(len(keys)-1))
	return fill(Shuffled(keys), func() int { return int(zipf.Uint64()) })
}

// HotKey returns a stream of a single key.
func HotKey(keys []string) Stream { return Stream{keys[0]} }

// fill makes a stream so long that no cache holds it.
func fill(keys []string, draw func() int) Stream {
	stream := make(Stream, max(1<<20, 1<<bits.Len(uint(2*len(keys)-1))))
	for i := range stream {
		stream[i] = keys[draw()]
	}
	return stream
}
