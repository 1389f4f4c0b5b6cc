package workload

import (
	"math/bits"
	"math/rand/v2"
	"time"
)

// seed makes every stream the same in every run.
const seed = 20240229

// shortestStream is so long that no cache holds a stream.
const shortestStream = 1 << 20

// A Stream is a sequence of keys that repeats itself. Its length is a power of
// two.
type Stream[T any] []T

// At returns the key at position i of the endless sequence.
func (s Stream[T]) At(i int) T { return s[i&(len(s)-1)] }

// Uniform returns a stream that draws every key with the same probability.
func Uniform[T any](keys []T) Stream[T] {
	random := newRandom()
	return fill(keys, func() int { return random.IntN(len(keys)) })
}

// Zipf returns a stream that draws the k-th most frequent key with a
// probability proportional to (k+1)^-1.1. Of 64k keys, the first has about an
// eighth.
func Zipf[T any](keys []T) Stream[T] {
	zipf := rand.NewZipf(newRandom(), 1.1, 1, uint64(len(keys)-1))
	return fill(Shuffled(keys), func() int { return int(zipf.Uint64()) })
}

// HotKey returns a stream of a single key.
func HotKey[T any](keys []T) Stream[T] { return Stream[T]{keys[0]} }

// Shuffled returns a copy of the keys in random order.
func Shuffled[T any](keys []T) []T {
	shuffled := append([]T(nil), keys...)
	newRandom().Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
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

func fill[T any](keys []T, draw func() int) Stream[T] {
	length := max(shortestStream, 1<<bits.Len(uint(2*len(keys)-1)))
	stream := make(Stream[T], length)
	for i := range stream {
		stream[i] = keys[draw()]
	}
	return stream
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
