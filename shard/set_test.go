package shard

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing"
)

// TestTurnsBound: an item is handed out within a number of Gets that follows
// from its place in its shard, whatever is added meanwhile: see lateness.
func TestTurnsBound(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 16, 64, 65, 100, 130} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			keepStack(t)
			s := newTestSet(t, Config[int]{Settings: Settings{Shards: shards}})
			type added struct{ place, gets int }
			ready := map[int]added{}
			gets, next := 0, 0
			add := func() {
				s.Add(next)
				sh := s.shardOf(next)
				ready[next] = added{int(sh.line.Depth()), gets}
				next++
			}
			for range 5 * shards {
				add()
			}
			for s.Core.Len() > 0 {
				gets++
				item, _ := s.Get()
				was := ready[item]
				if most := lateness(was.place, shards, lanesUsed(s)); gets-was.gets > most {
					t.Fatalf("item %d, at place %d, was handed out by the %dth Get, not by the %dth",
						item, was.place, gets-was.gets, most)
				}
				if gets < 100*shards {
					add()
				}
			}
		})
	}
}

// Lanes go by the address of the stack. A batch keeps to one, wherever that is.
func TestC37TurnsOfABatchAtEachDepth(t *testing.T) {
	keepStack(t)
	for depth := range 256 {
		s := newTestSet(t, Config[int]{Settings: Settings{Shards: 2}})
		for item := range 4 * batchSize {
			s.Add(item)
		}
		deeper(depth, func() {
			batch, last, run := make([]int, batchSize), -1, 0
			n, _ := s.GetBatch(context.Background(), batch)
			for _, item := range batch[:n] {
				if number := int(s.shardOf(item).number); number != last {
					last, run = number, 0
				}
				if run++; run > quantum {
					t.Fatalf("a turn of more than %d items, at depth %d", quantum, depth)
				}
			}
		})
	}
}

// deeper calls with n frames more on the stack, of an odd number of words.
//
//go:noinline
func deeper(n int, call func()) (first byte) {
	var frame [24]byte
	if frame[n%24] = 1; n == 0 {
		call()
		return frame[0]
	}
	return deeper(n-1, call) + frame[1]
}

// keepStack makes sure that the stack of the calling goroutine does not move
// during the test, which would move the goroutine to another lane, perhaps so
// briefly that lanesUsed does not notice. The stack has grown already, and
// without the collector it is not shrunk.
func keepStack(t *testing.T) {
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	useStack(64)
}

// useStack uses that many KiB of the stack.
func useStack(size int) int {
	var frame [1024]byte
	frame[size] = 1
	if size > 0 {
		return useStack(size-1) + int(frame[size])
	}
	return 0
}

// lateness bounds the number of Gets, one after the other, that hand out an
// item at a place of its shard. Each lane may come to the shard once, and
// leaves it only by taking the last of a group from it. On the way, each other
// shard may hand out a group of items.
func lateness(place, shards, lanes int) int {
	passages := lanes + (place-1+quantum-1)/quantum
	return place + passages*quantum*(shards-1)
}

// lanesUsed counts the lanes that have moved. One goroutine uses one, or
// another if its stack was moved.
func lanesUsed[T comparable](s *Set[T]) int {
	used := 0
	for i := range s.Core.shards.lanes.all {
		if s.Core.shards.lanes.all[i].turn.Load() != uint32(i*len(s.Core.shards.all)/len(s.Core.shards.lanes.all)) {
			used++
		}
	}
	return max(1, used)
}
