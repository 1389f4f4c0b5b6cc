package shard

import (
	"testing"
)

// TestRouteDecides: items of one route share a shard, in every queue, whatever
// their hash.
func TestRouteDecides(t *testing.T) {
	config := Config[int]{Settings: Settings{Shards: 64}, Route: func(item int) uint64 { return uint64(item % 100) }}
	s, other := newTestSet(t, config), newTestSet(t, config)
	for item := range 300 {
		if s.shardOf(item) != s.shardOf(item%100) || s.shardOf(item).number != other.shardOf(item).number {
			t.Errorf("items %d and %d are not in one shard", item, item%100)
		}
	}
}

// panicOf returns what a call panics with, or nil.
func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}
