package queue_test

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/kubernetes/queue"
)

// gauge counts, and notes whether it was ever below zero.
type gauge struct {
	mu    sync.Mutex
	of    map[int]int
	below bool
}

func (g *gauge) add(priority, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[priority] += n
	g.below = g.below || g.of[priority] < 0
}

func (g *gauge) Inc(priority int) { g.add(priority, 1) }
func (g *gauge) Dec(priority int) { g.add(priority, -1) }

// newQueue returns a queue that counts its depth, and its Meter.
func newQueue[T comparable](t *testing.T, g *gauge) (*queue.Queue[T], *queue.Meter[T]) {
	n := ignored{}
	meter := queue.NewMeter[T](queue.Instruments{
		DepthByPriority: g, Adds: n, Retries: n, Latency: n, WorkDuration: n, Unfinished: n, LongestRunning: n,
	}, nil)
	q, err := queue.New(queue.Options[T]{Priority: true, Observer: meter})
	require.NoError(t, err)
	return q, meter
}

type ignored struct{}

func (ignored) Inc()            {}
func (ignored) Observe(float64) {}
func (ignored) Set(float64)     {}

// TestDepthIsNeverBelowZero: producers and consumers tell about the same items
// in any order, and the gauge shows neither less than nothing nor, in the end,
// more.
func TestDepthIsNeverBelowZero(t *testing.T) {
	g := &gauge{of: map[int]int{}}
	q, _ := newQueue[int](t, g)
	var producers, consumers sync.WaitGroup
	for n := range 4 {
		producers.Go(func() {
			for i := range 5000 {
				q.AddWith(queue.AddOptions{Priority: (i + n) % 3}, i%50)
			}
		})
		consumers.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(item)
			}
		})
	}
	producers.Wait()
	q.ShutDownWithDrain()
	consumers.Wait()
	require.False(t, g.below)
	for priority, n := range g.of {
		require.Zero(t, n, "priority %d", priority)
	}
}

// TestDepthAfterCancelsAndTheEnd: what is canceled, or discarded at the end, is
// not in the depth.
func TestDepthAfterCancelsAndTheEnd(t *testing.T) {
	depth := &gauge{of: map[int]int{}}
	q, _ := newQueue[int](t, depth)
	q.AddWith(queue.AddOptions{Priority: 3}, 0, 1, 2, 3, 4)
	dirty, _ := q.Get()
	q.Add(dirty)
	q.Underlying().Cancel(3)
	require.Equal(t, map[int]int{0: 1, 3: 3}, depth.of)
	q.ShutDown()
	require.Equal(t, map[int]int{0: 1, 3: 0}, depth.of)
	q.Done(dirty)
	require.Equal(t, map[int]int{0: 0, 3: 0}, depth.of)
}

// TestItemNotEqualToItself: it is rejected and counted, and neither the limiter
// nor the Meter keeps anything of it.
func TestItemNotEqualToItself(t *testing.T) {
	g := &gauge{of: map[int]int{}}
	q, meter := newQueue[float64](t, g)
	defer q.ShutDown()
	for range 3 {
		q.Add(math.NaN())
		q.AddRateLimited(math.NaN())
	}
	require.EqualValues(t, 6, q.Underlying().Stats().Rejected)
	require.Zero(t, q.Depth())
	require.Empty(t, g.of)
	require.Zero(t, meter.Remembered())
}
