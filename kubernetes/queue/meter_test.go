package queue_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
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

// newQueue returns a queue that counts its depth.
func newQueue[T comparable](t *testing.T, g *gauge) *queue.Queue[T] {
	n := ignored{}
	q, err := queue.New(queue.Options[T]{Priority: true, Instruments: &queue.Instruments{
		DepthByPriority: g, Adds: n, Retries: n, Latency: n, WorkDuration: n, Unfinished: n, LongestRunning: n,
	}})
	require.NoError(t, err)
	return q
}

type ignored struct{}

func (ignored) Inc()            {}
func (ignored) Dec()            {}
func (ignored) Observe(float64) {}
func (ignored) Set(float64)     {}

// TestDepthIsNeverBelowZero: producers and consumers tell about the same items
// in any order, and the gauge shows neither less than nothing nor, in the end,
// more.
func TestDepthIsNeverBelowZero(t *testing.T) {
	g := &gauge{of: map[int]int{}}
	q := newQueue[int](t, g)
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
	q := newQueue[int](t, depth)
	q.AddWith(queue.AddOptions{Priority: 3}, 0, 1, 2, 3, 4)
	dirty, _ := q.Get()
	q.Add(dirty)
	q.Underlying().Cancel(3)
	q.Add(4) // which shows it
	require.Equal(t, map[int]int{0: 1, 3: 3}, depth.of)
	q.ShutDown()
	require.Equal(t, map[int]int{0: 1, 3: 0}, depth.of)
	q.Done(dirty)
	require.Equal(t, map[int]int{0: 0, 3: 0}, depth.of)
}

// TestItemNotEqualToItself: it is rejected and counted, and neither the limiter
// nor the depth has anything of it.
func TestItemNotEqualToItself(t *testing.T) {
	g := &gauge{of: map[int]int{}}
	q := newQueue[float64](t, g)
	defer q.ShutDown()
	for range 3 {
		q.Add(math.NaN())
		q.AddRateLimited(math.NaN())
	}
	require.EqualValues(t, 6, q.Underlying().Stats().Rejected)
	require.Zero(t, q.Depth())
	require.Zero(t, g.of[0])
}

// A counter and a list of observations that get several at once.
type bulk struct {
	mu       sync.Mutex
	counted  float64
	observed []float64
}

func (b *bulk) Inc() { b.Add(1) }

func (b *bulk) Add(n float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counted += n
}

func (b *bulk) Observe(seconds float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.observed = append(b.observed, seconds)
}

// TestInstrumentsAgreeWithTheQueue: of more operations than are shown one by one, each
// is counted and observed in the end, each duration within a twelfth of what it was.
func TestInstrumentsAgreeWithTheQueue(t *testing.T) {
	const items = 5000
	adds, latency, work, n, g := &bulk{}, &bulk{}, &bulk{}, ignored{}, &gauge{of: map[int]int{}}
	fake := clock.NewFake(time.Unix(0, 0))
	q, err := queue.New(queue.Options[int]{
		Scraped: true, Queue: shardq.Options[int]{Clock: fake, Shards: 4},
		Instruments: &queue.Instruments{
			DepthByPriority: g, Adds: adds, Retries: n, Latency: latency, WorkDuration: work, Unfinished: n, LongestRunning: n,
		},
	})
	require.NoError(t, err)
	for i := range items {
		q.Add(i)
		fake.Step(time.Duration(1+i%100) * time.Microsecond)
		item, _ := q.Get()
		fake.Step([]time.Duration{time.Millisecond, 10 * time.Millisecond}[i%2])
		q.Done(item)
	}
	q.ShutDown()
	require.EqualValues(t, items, adds.counted)
	require.Len(t, latency.observed, items)
	require.Len(t, work.observed, items)
	require.Zero(t, g.of[0])
	m := q.Underlying().Stats().Metrics
	require.InEpsilon(t, m.QueueDuration.Sum.Seconds(), total(latency.observed), 0.02)
	require.InEpsilon(t, items/2*11e-3, total(work.observed), 0.01)
	for _, seconds := range work.observed {
		require.True(t, seconds > 0.9e-3 && seconds <= 1e-3 || seconds > 9e-3 && seconds <= 10e-3, "%v", seconds)
	}
}

func total(all []float64) (sum float64) {
	for _, one := range all {
		sum += one
	}
	return sum
}

// ticks is a clock.Ticker.
type ticks chan time.Time

func (c ticks) C() <-chan time.Time { return c }
func (c ticks) Stop()               {}

// told passes on what a gauge is set to.
type told chan float64

func (c told) Set(seconds float64) { c <- seconds }

// TestTickShowsAll: beyond the operations that are shown at once, a tick shows what
// was counted, and how long the items in processing have taken, until the shutdown; then
// operations are shown at once again.
func TestTickShowsAll(t *testing.T) {
	fake, tick, unfinished, longest := clock.NewFake(time.Unix(0, 0)), make(ticks), make(told, 1), make(told, 1)
	adds, n := &bulk{}, ignored{}
	q, err := queue.New(queue.Options[int]{
		Scraped: true, Queue: shardq.Options[int]{Clock: fake}, Ticker: tick,
		Instruments: &queue.Instruments{Depth: n, Adds: adds, Retries: n, Latency: n, WorkDuration: n, Unfinished: unfinished, LongestRunning: longest},
	})
	require.NoError(t, err)
	q.Add(-1)
	q.Get()
	fake.Step(2 * time.Second)
	q.Add(-2)
	q.Get()
	fake.Step(time.Second)
	for item := range 200 {
		q.Add(item)
	}
	require.Less(t, adds.counted, 200.0)
	tick <- time.Time{}
	require.Equal(t, 4.0, <-unfinished)
	require.Equal(t, 3.0, <-longest)
	require.Equal(t, 202.0, adds.counted)
	q.Add(200)
	require.Equal(t, 203.0, adds.counted)
	q.ShutDown()
	require.Zero(t, <-unfinished+<-longest, "the gauges end with the queue")
}

// TestCycleDoesNotAllocate: once an item is known, and while the instruments do not
// need the figures.
func TestCycleDoesNotAllocate(t *testing.T) {
	n := ignored{}
	q, err := queue.New(queue.Options[int]{Priority: true, Scraped: true, Instruments: &queue.Instruments{
		Depth: n, Adds: n, Retries: n, Latency: n, WorkDuration: n, Unfinished: n, LongestRunning: n,
	}})
	require.NoError(t, err)
	defer q.ShutDown()
	cycle := func() {
		q.AddAfter(1, time.Hour)
		q.Add(1)
		item, _ := q.Get()
		q.Done(item)
	}
	for range 200 { // after 128 operations, only a tick would bring them up to date
		cycle()
	}
	require.Zero(t, testing.AllocsPerRun(1000, cycle))
}
