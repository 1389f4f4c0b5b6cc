package main

import (
	"github.com/shardq/shardq/bench/heapqueue"
	"github.com/shardq/shardq/stress/harness"
)

// baseline is the heap design: a reimplementation of client-go's queue.
func baseline() harness.Target {
	return harness.Target{
		Name:     "baseline",
		Features: harness.Features{CallersLimiter: true, ExactLen: true},
		Ints:     openBaseline[int], Strings: openBaseline[string],
		Pairs: openBaseline[harness.Pair], Anys: openBaseline[any],
	}
}

func openBaseline[T comparable](s harness.Settings[T]) harness.Typed[T] {
	return heapqueue.New(heapqueue.Options[T]{RateLimiter: s.Limiter})
}
