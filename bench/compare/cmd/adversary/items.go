package main

import (
	"cmp"
	"fmt"
	"slices"
)

// items are the keys of a case: its own, and others for probers.
type items[T cmp.Ordered] struct {
	keys []T
	// probes are 256 keys, so that each of 32 shards has some, and as many
	// again for AddAfter.
	probes, delayed []T
	isProbe         func(T) bool
	// last is like a probe, and is added last.
	last T
}

const probeKeys = 256

// numbers are the items 0 to n-1.
func numbers(n int) items[uint64] {
	all := make([]uint64, n+2*probeKeys+1)
	for i := range all {
		all[i] = uint64(i)
	}
	return items[uint64]{
		keys:    all[:n:n],
		probes:  all[n:][:probeKeys],
		delayed: all[n+probeKeys:][:probeKeys],
		isProbe: func(key uint64) bool { return key >= uint64(n) },
		last:    all[n+2*probeKeys],
	}
}

// longStrings are the items of keys, which are longer than probes are.
func longStrings(keys []string) items[string] {
	return items[string]{
		keys:    keys,
		probes:  probeStrings("probe"),
		delayed: probeStrings("later"),
		isProbe: func(key string) bool { return len(key) <= len(longestProbe) },
		last:    longestProbe,
	}
}

const longestProbe = "last-000"

func probeStrings(name string) []string {
	all := make([]string, probeKeys)
	for i := range all {
		all[i] = fmt.Sprintf("%s%03d", name, i)
	}
	return all
}

// strays returns the number of items that were lost, or handed out more than
// once. It sorts taken.
func (it items[T]) strays(taken []T) (n int) {
	expected := slices.Sorted(slices.Values(it.keys))
	slices.Sort(taken)
	for len(expected) > 0 && len(taken) > 0 {
		switch order := cmp.Compare(expected[0], taken[0]); {
		case order == 0:
			expected, taken = expected[1:], taken[1:]
		case order < 0:
			expected = expected[1:]
			n++
		default:
			taken = taken[1:]
			n++
		}
	}
	return n + len(expected) + len(taken)
}
