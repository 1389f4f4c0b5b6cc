package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func (p *pending) add(key string) string { return p.merge([]byte(key), hashKeyString(key)) }

func isSettled(p *pending) bool {
	select {
	case <-p.settled:
		return true
	default:
		return false
	}
}

func TestPendingMergesEventsOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPending(10, time.Now())
		require.Equal(t, "a", p.add("a"))
		time.Sleep(time.Second)
		p.add("a")
		p.add("b")
		require.EqualValues(t, 2, p.keys())

		a, ok := p.take("a")
		require.True(t, ok)
		require.Equal(t, value{count: 2, first: 0}, a)
		b, ok := p.take("b")
		require.True(t, ok)
		require.Equal(t, value{count: 1, first: time.Second}, b)
		_, ok = p.take("a")
		require.False(t, ok, "taken already")
	})
}

func TestPendingRestoreMergesWithWhatCameSince(t *testing.T) {
	p := newPending(10, time.Now())
	p.add("a")
	taken, _ := p.take("a")
	p.restore("a", taken)
	require.EqualValues(t, 1, p.keys())
	taken, _ = p.take("a")
	p.add("a")
	require.EqualValues(t, 2, p.keys(), "one with a worker, one here")
	p.restore("a", taken)
	require.EqualValues(t, 1, p.keys())
	merged, _ := p.take("a")
	require.Equal(t, value{count: 2, first: taken.first}, merged)
}

func TestPendingSettles(t *testing.T) {
	p := newPending(10, time.Now())
	p.add("a")
	p.take("a")
	p.settle(1)
	require.False(t, isSettled(p), "more events may come")
	p.add("b")
	p.take("b")
	p.seal()
	require.False(t, isSettled(p), "b is not written")
	p.settle(1)
	require.True(t, isSettled(p))
	require.Zero(t, p.keys())
}

func TestPendingWithoutEventsSettlesAtSeal(t *testing.T) {
	p := newPending(10, time.Now())
	p.seal()
	require.True(t, isSettled(p))
}

func TestPendingMakesReadersWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPending(2, time.Now())
		p.add("a")
		p.waitForRoom(t.Context()) // there is room for one more
		p.add("b")
		released := 0
		var mu sync.Mutex
		for range 3 {
			go func() {
				p.waitForRoom(t.Context())
				mu.Lock()
				defer mu.Unlock()
				released++
			}()
		}
		synctest.Wait()
		require.Zero(t, released)
		p.take("a")
		synctest.Wait()
		require.Zero(t, released, "taken, but not settled")
		p.settle(1)
		synctest.Wait()
		require.Equal(t, 3, released)
	})
}

func TestPendingReleasesReadersWhenReadingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPending(1, time.Now())
		p.add("a")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			p.waitForRoom(ctx)
			close(ended)
		}()
		synctest.Wait()
		cancel()
		<-ended
	})
}

// Events are neither lost nor doubled while readers, workers and failures meet
// on a few keys.
func TestPendingConservesEvents(t *testing.T) {
	const readers, workers, each, keys = 4, 4, 5000, 8
	p := newPending(1000, time.Now())
	var reading, working sync.WaitGroup
	added := make(chan string, readers*each+readers*each) // every event, and every restored value
	for range readers {
		reading.Go(func() {
			for i := range each {
				added <- p.add(fmt.Sprint(i % keys))
			}
		})
	}
	counts := make([]uint64, workers)
	for w := range workers {
		working.Go(func() {
			for turn := 0; ; turn++ {
				var key string
				select {
				case key = <-added:
				case <-p.settled:
					return
				}
				taken, ok := p.take(key)
				switch {
				case ok && turn%3 == 0:
					p.restore(key, taken)
					added <- key
				case ok:
					counts[w] += taken.count
					p.settle(1)
				}
			}
		})
	}
	reading.Wait()
	p.seal()
	working.Wait()
	var all uint64
	for _, n := range counts {
		all += n
	}
	require.EqualValues(t, readers*each, all)
}
