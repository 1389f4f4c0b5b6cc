package workload_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/bench/workload"
)

func TestKeysAreDifferent(t *testing.T) {
	assert.Equal(t, 5000, distinct(workload.Strings(5000)))
	assert.Equal(t, 5000, distinct(workload.Requests(5000)))
	assert.Equal(t, 5000, distinct(workload.Integers(5000)))
	assert.Equal(t, 5000, distinct(workload.Shuffled(workload.Integers(5000))))
	assert.Len(t, workload.Strings(1)[0], 30)
}

func distinct[T comparable](keys []T) int {
	set := map[T]bool{}
	for _, key := range keys {
		set[key] = true
	}
	return len(set)
}

func TestStreamsRepeatThemselves(t *testing.T) {
	keys := workload.Integers(1000)
	for _, stream := range []workload.Stream[uint64]{
		workload.Uniform(keys), workload.Zipf(keys), workload.HotKey(keys),
	} {
		assert.Equal(t, stream.At(17), stream.At(17+len(stream)))
	}
}

func TestAZipfStreamHasFavourites(t *testing.T) {
	frequency := map[uint64]int{}
	stream := workload.Zipf(workload.Integers(1000))
	for _, key := range stream {
		frequency[key]++
	}
	most := 0
	for _, n := range frequency {
		most = max(most, n)
	}
	assert.Greater(t, most, len(stream)/20)
	assert.Greater(t, len(frequency), 900)
}

func TestALockedLimiterDoublesUpToItsMaximum(t *testing.T) {
	l := workload.NewLockedLimiter[string](time.Millisecond, 10*time.Millisecond)
	for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		assert.Equal(t, want*time.Millisecond, l.When("a"))
	}
	for range 100 {
		assert.Equal(t, 10*time.Millisecond, l.When("a"))
	}
	l.Forget("a")
	assert.Equal(t, time.Millisecond, l.When("a"))
}

func TestHeapTimersFireInOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const ids, end = 10, 30
		var timers workload.HeapTimers
		deadlines := map[uint32]uint64{}
		for range rapid.IntRange(0, 50).Draw(r, "calls") {
			id := uint32(rapid.IntRange(1, ids).Draw(r, "id"))
			if deadline := rapid.Uint64Range(0, end).Draw(r, "deadline"); deadline > 0 {
				timers.Schedule(id, deadline)
				deadlines[id] = deadline
			} else {
				_, filed := deadlines[id]
				assert.Equal(r, filed, timers.Cancel(id))
				delete(deadlines, id)
			}
		}
		for now := uint64(1); now <= end; now++ {
			timers.Expire(now, func(id uint32) {
				assert.Equal(r, now, deadlines[id])
				delete(deadlines, id)
			})
		}
		assert.Empty(r, deadlines)
	})
}
