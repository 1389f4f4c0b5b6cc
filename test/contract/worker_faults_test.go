package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// A workerFault panics at one call of one of the user's functions. Delays order
// the calls, but the race detector does not see that, so there is a lock.
type workerFault struct {
	function string

	mu           sync.Mutex
	call         int
	armed, spent bool
}

func (b *workerFault) tick(function string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.armed || function != b.function {
		return
	}
	if b.call--; b.call == 0 {
		b.spent = true
		panic("bomb")
	}
}

func (b *workerFault) arm(armed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = armed
}

func (b *workerFault) occurred() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// A tally counts by number, for successive pools of workers.
type tally struct {
	mu     sync.Mutex
	counts map[int]int
}

func newTally() *tally { return &tally{counts: map[int]int{}} }

// count counts one more of n, and returns how many there are.
func (c *tally) count(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[n]++
	return c.counts[n]
}

// once requires that each number below n was counted once.
func (c *tally) once(t *testing.T, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		require.Equal(t, 1, c.counts[i], "number %d", i)
	}
	require.Len(t, c.counts, n)
}

// A survivingClock has timers whose functions may panic: no caller waits for
// their goroutines.
type survivingClock struct{ clock.Clock }

func (c survivingClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.Clock.AfterFunc(d, func() { recovered(f) })
}

// faultOptions returns the options of a queue with a fault in each of the
// user's functions.
func faultOptions(b *workerFault, grouped bool) shardq.Options[int] {
	o := hookedOptions(b.tick, grouped, survivingClock{clock.Real()})
	o.Capacity, o.RateLimiter = 0, hookedLimiter[int]{limiter.NewExponential[int](time.Second, time.Minute), b.tick}
	return o
}

var bombs = []string{
	"Handle", "As", "OnError", "OnDiscard", "When", "Forget", "NumRequeues", "Now", "AfterFunc", "Reset",
	"Enabled", "Logger", "OnWatermark", "OnMisuse", "Hash", "Group", "GroupPolicy", "Weigh",
}

// forEachFault runs a test with a fault at each call of each function, until
// there are no more calls.
func forEachFault(t *testing.T, test func(t *testing.T, b *workerFault, batch int, grouped bool)) {
	for _, function := range bombs {
		for _, batch := range []int{0, 4} {
			for _, grouped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", function, batch, grouped), func(t *testing.T) {
					for call := 1; ; call++ {
						b := &workerFault{function: function, call: call}
						synctest.Test(t, func(t *testing.T) { test(t, b, batch, grouped) })
						if !b.occurred() {
							t.Logf("%d calls", call-1)
							return
						}
					}
				})
			}
		}
	}
}

type faultError struct{ *workerFault }

func (e faultError) Error() string { e.tick("As"); return "bomb" }
func (e faultError) Is(error) bool { e.tick("As"); return false }
func (e faultError) As(any) bool   { e.tick("As"); return false }
func (e faultError) Unwrap() error { e.tick("As"); return nil }

// answer is the result of a handler for an item. It differs from attempt to
// attempt.
func (b *workerFault) answer(item, attempt int) error {
	b.tick("Handle")
	switch {
	case attempt == 1 && item%2 == 0:
		return faultError{b}
	case attempt == 2 && item%3 == 0:
		return worker.RequeueAfter(time.Second)
	case item%5 == 0 && attempt > 1:
		return worker.Permanent(faultError{b})
	}
	return nil
}

// runWithFault runs workers until all items are handled. It starts new ones
// when a panic has ended them. It returns how often each item has succeeded or was
// discarded.
func runWithFault(t *testing.T, b *workerFault, batch int, q *shardq.Queue[int]) (ends *tally) {
	ends, attempts := newTally(), newTally()
	one := func(_ context.Context, item int) error {
		err := b.answer(item, attempts.count(item))
		if err == nil {
			ends.count(item)
		}
		return err
	}
	o := worker.Options[int]{
		Workers: 1, Drain: q.DrainWith(shardq.DrainOptions{Delayed: shardq.AwaitDelayed}), BatchSize: batch,
		OnError:   func(context.Context, worker.Failure[int]) { b.tick("OnError") },
		OnDiscard: func(_ context.Context, f worker.Failure[int]) { ends.count(f.Item); b.tick("OnDiscard") },
	}
	o.OnLeftover = o.OnDiscard
	if batch == 0 {
		o.Handle = one
	} else {
		o.BatchWeight, o.Weigh = 5, func(int) int { b.tick("Weigh"); return 2 }
		o.HandleBatch = func(ctx context.Context, items []int) []error {
			errs := make([]error, len(items))
			for i, item := range items { // a panic would fail the others as well
				if recovered(func() { errs[i] = one(ctx, item) }) != nil {
					errs[i] = errOnPurpose
				}
			}
			return errs
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.arm(true)
	ended := returned(func() {
		for again := true; again; {
			w, err := worker.New(q, o)
			require.NoError(t, err)
			again = panicOf(func() { err = w.Run(ctx) }) != nil
			require.NoError(t, err)
		}
	})
	time.Sleep(time.Minute)
	synctest.Wait()
	cancel() // the drain handles delayed items
	time.Sleep(time.Hour)
	requireBecomesTrue(t, ended)
	b.arm(false)
	return ends
}

// Wherever one of the user's functions panics in a worker, no item is lost,
// handled twice, or left in processing. Each succeeds once or is discarded
// once.
func TestC51NoPanicLosesAnItem(t *testing.T) {
	forEachFault(t, func(t *testing.T, b *workerFault, batch int, grouped bool) {
		q := shardq.MustNew(faultOptions(b, grouped))
		q.AddBatch(numbers(11), shardq.AddOptions{})
		runWithFault(t, b, batch, q).once(t, 11)
		require.Zero(t, q.Stats().Held+int(q.Stats().Misused))
	})
}

// Run that panics when it names what it leaves has its errors all the same.
func TestC51PanicBesideAbandonedItems(t *testing.T) {
	for call := range 36 {
		synctest.Test(t, func(t *testing.T) {
			b, finish := &workerFault{function: []string{"NumRequeues", "Now"}[call%2], call: call / 4}, make(chan struct{})
			q := shardq.MustNew(faultOptions(b, false))
			pool, err := worker.New(q, worker.Options[int]{
				Workers: 2, AbandonAfter: time.Minute, Drain: q.DrainWith(shardq.DrainOptions{}), DrainTimeout: time.Minute,
				Handle: func(_ context.Context, item int) error {
					if q.NumRequeues(item) == 0 {
						return errOnPurpose
					}
					<-finish
					return nil
				},
			})
			require.NoError(t, err)
			q.AddBatch(numbers(2), shardq.AddOptions{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			time.AfterFunc(time.Hour+time.Duration(call/2%2+1)*45*time.Second, func() { b.arm(true) })
			fault := panicOf(func() { err = pool.Run(ctx) })
			if require.Equal(t, b.occurred(), fault != nil); fault != nil {
				err = fault.Run
			}
			left, _ := errors.AsType[*worker.LeftoverError[int]](err)
			early, _ := errors.AsType[*shardq.DrainError[int]](err)
			require.Equal(t, 4, len(left.Left())+len(early.Left()))
			b.arm(false)
			close(finish)
		})
	}
}
