package contract

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// A delayed is a coalescer of strings with a fake clock.
type delayedJoiner struct {
	*coalesce.Coalescer[string, string]
	clock *clock.Fake
}

func newDelayed(change ...func(*coalesce.Options[string, string])) delayedJoiner {
	fake := newFake()
	set := func(o *coalesce.Options[string, string]) {
		o.Queue.Clock = fake
		o.Queue.RateLimiter = limiter.NewExponential[string](time.Hour, time.Hour)
	}
	return delayedJoiner{newJoiner(1, append(change, set)...), fake}
}

// takes takes a key and checks its value.
func (d delayedJoiner) takes(t *testing.T, key, value string) {
	t.Helper()
	require.Equal(t, 1, d.Queue().Len(), "one key is ready")
	k, v, err := d.Take(context.Background())
	require.NoError(t, err)
	require.Equal(t, [2]string{key, value}, [2]string{k, v})
}

func lingering(d time.Duration, values int) func(*coalesce.Options[string, string]) {
	return func(o *coalesce.Options[string, string]) { o.Linger, o.LingerValues = d, values }
}

func TestC76KeyLingersFromItsFirstValue(t *testing.T) {
	c := newDelayed(lingering(time.Second, 0))
	require.NoError(t, c.Put("a", "1"))
	c.clock.Step(900 * time.Millisecond)
	require.NoError(t, c.Put("a", "2"))
	require.Zero(t, c.Queue().Len())
	c.clock.Step(200 * time.Millisecond)
	c.takes(t, "a", "12")
	require.NoError(t, c.Put("a", "3")) // it lingers from now on, also after the Done
	c.Done("a")
	require.Zero(t, c.Queue().Len())
	c.clock.Step(2 * time.Second)
	c.takes(t, "a", "3")
	require.NoError(t, c.PutBack("a", "3"))
	c.takes(t, "a", "3")
}

func TestC76LingerEndsAtSomeValues(t *testing.T) {
	c := newDelayed(lingering(time.Second, 3))
	for round := range 3 {
		for _, value := range []string{"1", "2"} {
			require.NoError(t, c.Put("a", value))
			require.Zero(t, c.Queue().Len(), round)
		}
		require.NoError(t, c.Put("a", "3"))
		c.takes(t, "a", "123")
		c.Done("a")
	}
	c.clock.Step(time.Hour)
	require.Zero(t, c.Queue().Len(), "no delay is left")
}

// The limits of a PutWith count for a key that lingers already. The earliest
// limit counts. The values merge until then.
func TestC76MaxWaitLimitsALinger(t *testing.T) {
	put := func(c delayedJoiner, value string, limit time.Duration) {
		require.NoError(t, c.PutWith("a", value, coalesce.PutOptions{MaxWait: limit, Priority: 3}))
		require.Zero(t, c.Queue().Len())
	}
	c := newDelayed(lingering(time.Minute, 0))
	for range 2 {
		require.NoError(t, c.Put("a", "1"))
		put(c, "2", 2*time.Second)
		put(c, "3", time.Second)
		put(c, "4", time.Hour)
		require.NoError(t, c.Put("a", "5"))
		require.Equal(t, 1, c.Stats().Values.Lingering)
		c.clock.Step(900 * time.Millisecond)
		require.Zero(t, c.Queue().Len())
		c.clock.Step(200 * time.Millisecond)
		c.takes(t, "a", "12345")
		c.Done("a")
	}
	put(c, "1", time.Hour) // a limit prolongs no linger
	c.clock.Step(59 * time.Second)
	put(c, "2", time.Minute)
	c.clock.Step(2 * time.Second)
	require.NoError(t, c.PutWith("a", "3", coalesce.PutOptions{MaxWait: time.Second})) // it is ready already
	c.takes(t, "a", "123")
	c.Done("a")
	c.clock.Step(time.Hour)
	require.Zero(t, c.Queue().Len(), "no delay is left")
}

// A zero delay is that of the linger, whatever the policy. No drain drops what
// lingers.
func TestC76PolicyChoosesBesideALinger(t *testing.T) {
	for _, test := range []struct {
		options coalesce.PutOptions
		seconds []int // until the key is ready: alone, and 30 seconds after a Put
	}{
		{coalesce.PutOptions{}, []int{60, 30}},
		{coalesce.PutOptions{Policy: shardq.KeepOld}, []int{60, 30}},
		{coalesce.PutOptions{Policy: shardq.KeepLatest}, []int{60, 60}},
		{coalesce.PutOptions{Policy: shardq.KeepNew}, []int{60, 60}},
		{coalesce.PutOptions{Policy: shardq.KeepLatest, MaxWait: time.Second}, []int{1, 1}},
		{coalesce.PutOptions{Policy: shardq.KeepLatest, Delay: -1}, []int{0, 30}},
		{coalesce.PutOptions{Delay: time.Hour}, []int{3600, 30}},
		{coalesce.PutOptions{Delay: 20 * time.Second}, []int{20, 20}},
	} {
		for puts, seconds := range test.seconds {
			c := newDelayed(lingering(time.Minute, 3))
			if puts > 0 {
				require.NoError(t, c.Put("a", "1"))
				c.clock.Step(30 * time.Second)
			}
			require.NoError(t, c.PutWith("a", "2", test.options))
			if left := time.Duration(seconds) * time.Second; left > 0 {
				lingers := puts > 0 || test.options.Delay == 0
				require.Equal(t, lingers, c.Stats().Values.Lingering == 1, "%+v", test.options)
				c.clock.Step(left - time.Millisecond)
				require.Zero(t, c.Queue().Len(), "%+v after %d", test.options, puts)
				c.clock.Step(time.Millisecond)
			}
			require.Equal(t, 1, c.Queue().Len(), "%+v after %d", test.options, puts)
		}
		c := newDelayed(lingering(time.Minute, 3))
		require.NoError(t, c.Put("a", "1"))
		require.NoError(t, c.PutWith("a", "2", test.options))
		dropped, err := c.Drain(endedContext(), shardq.DrainOptions{})
		require.Error(t, err)
		require.Empty(t, dropped, "%+v", test.options)
	}
	c := newDelayed(lingering(time.Minute, 2))
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Delay: time.Hour, Policy: shardq.KeepLatest}))
	c.takes(t, "a", "12") // it has as many values as end a linger
}

func TestC76BackoffOutlastsALinger(t *testing.T) {
	c := newDelayed(lingering(time.Second, 2))
	require.NoError(t, c.Put("a", "1"))
	c.clock.Step(2 * time.Second)
	c.takes(t, "a", "1")
	require.NoError(t, c.Put("a", "2"))
	require.NoError(t, c.Retry("a", "1"))
	for range 5 {
		require.NoError(t, c.Put("a", "+"))
	}
	c.clock.Step(59 * time.Minute)
	require.Zero(t, c.Queue().Len())
	c.clock.Step(2 * time.Minute)
	c.takes(t, "a", "12+++++")
}

// A value that goes back is ready after its backoff, with the values that have
// lingered since, however long they would have.
func TestC76ReturnEndsALinger(t *testing.T) {
	for _, putEnds := range []bool{false, true} {
		for name, giveBack := range map[string]func(delayedJoiner, worker.Claim[coalesce.Entry[string, string]]) error{
			"Retry":       func(c delayedJoiner, _ worker.Claim[coalesce.Entry[string, string]]) error { return c.Retry("a", "1") },
			"Claim.Retry": func(_ delayedJoiner, claim worker.Claim[coalesce.Entry[string, string]]) error { return claim.Retry() },
			"RequeueAfter": func(_ delayedJoiner, claim worker.Claim[coalesce.Entry[string, string]]) error {
				return claim.RequeueAfter(time.Hour)
			},
		} {
			c := newDelayed(lingering(10*time.Hour, 3), func(o *coalesce.Options[string, string]) { o.PutEndsBackoff = putEnds })
			require.NoError(t, c.Put("a", "1"))
			c.clock.Step(10 * time.Hour)
			claim, err := c.Claim(context.Background())
			require.NoError(t, err)
			require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{MaxWait: 5 * time.Hour}))
			require.NoError(t, giveBack(c, claim), name)
			require.Zero(t, c.Stats().Values.Lingering)
			c.clock.Step(59 * time.Minute)
			require.Zero(t, c.Queue().Len(), name)
			c.clock.Step(2 * time.Minute)
			c.takes(t, "a", "12")
			c.Done("a")
			c.clock.Step(20 * time.Hour)
			require.Zero(t, c.Queue().Len(), "no delay is left")
		}
	}
}

// What lingers is not delayed for a drain, which would drop it.
func TestC76ShutdownEndsALinger(t *testing.T) {
	for _, end := range []func(c delayedJoiner){
		func(c delayedJoiner) { c.ShutDown() },
		func(c delayedJoiner) {
			dropped, err := c.Drain(endedContext(), shardq.DrainOptions{})
			require.Error(t, err)
			require.Empty(t, dropped)
		},
	} {
		c := newDelayed(lingering(time.Hour, 0))
		require.NoError(t, c.Put("a", "1"))
		end(c)
		c.takes(t, "a", "1")
		c.Done("a")
	}
}

func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestC76OptionsAreChecked(t *testing.T) {
	_, err := coalesce.New(coalesce.Options[string, string]{Linger: -1, LingerValues: -1, Merge: joined})
	require.ErrorContains(t, err, "Linger is -1ns: want 0 (none) or more")
	require.ErrorContains(t, err, "LingerValues is -1")
	_, err = coalesce.New(coalesce.Options[string, string]{LingerValues: 1, Merge: joined})
	require.ErrorContains(t, err, "want 0 without Linger")
	_, err = worker.New(shardq.MustNew(shardq.Options[string]{}), worker.Options[string]{
		Workers: 1, Linger: time.Second, Handle: func(context.Context, string) error { return nil },
	})
	require.ErrorContains(t, err, "Linger is 1s: want 0 without HandleBatch")
}

// TestC76BatchesFill counts rows and batches with and without a linger.
func TestC76BatchesFill(t *testing.T) {
	for _, test := range []struct {
		linger  time.Duration
		batches int
	}{{0, 100}, {10 * time.Millisecond, 2}} {
		synctest.Test(t, func(t *testing.T) {
			q := shardq.MustNew(shardq.Options[int]{})
			var sizes []int
			pool, err := worker.New(q, worker.Options[int]{
				Workers: 1, BatchSize: 50, Linger: test.linger,
				HandleBatch: func(_ context.Context, items []int) []error {
					sizes = append(sizes, len(items))
					return nil
				},
			})
			require.NoError(t, err)
			go func() {
				for i := range 100 {
					q.Add(i)
					time.Sleep(10 * time.Microsecond)
				}
				q.ShutDown()
			}()
			require.NoError(t, pool.Run(context.Background()))
			require.Len(t, sizes, test.batches)
		})
	}
}

// TestC76ValuesPerTake counts the values of one Take with and without a linger.
func TestC76ValuesPerTake(t *testing.T) {
	for _, test := range []struct {
		linger time.Duration
		takes  int
	}{{0, 100}, {time.Millisecond, 2}} {
		synctest.Test(t, func(t *testing.T) {
			c := newJoiner(1, lingering(test.linger, 0))
			takes := 0
			go func() {
				for range 100 {
					_ = c.Put("a", "x")
					time.Sleep(19 * time.Microsecond)
				}
				c.ShutDown()
			}()
			require.NoError(t, c.Run(context.Background(), 1, func(context.Context, string, string) error {
				takes++
				return nil
			}))
			require.Equal(t, test.takes, takes)
		})
	}
}

func TestC76LingerOfABatchEndsWithItsPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{})
		q.Add("a")
		ctx, cancel := context.WithCancel(context.Background())
		var seen []string
		pool, err := worker.New(q, worker.Options[string]{
			Workers: 1, BatchSize: 2, Linger: time.Hour, Drain: q.DrainWith(shardq.DrainOptions{}),
			HandleBatch: func(_ context.Context, items []string) []error {
				seen = append(seen, items...)
				return nil
			},
		})
		require.NoError(t, err)
		begun := time.Now()
		time.AfterFunc(time.Second, cancel)
		require.NoError(t, pool.Run(ctx))
		require.Equal(t, []string{"a"}, seen)
		require.Equal(t, time.Second, time.Since(begun))
	})
}

// A failingSource panics when it is asked for more.
type failingSource struct {
	*shardq.Queue[string]
	calls int
}

func (s *failingSource) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	if s.calls++; s.calls > 1 {
		panic("on purpose")
	}
	return s.Queue.ClaimBatch(ctx, dst)
}

func TestC76PanicInALingerReleasesTheBatch(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("a")
	pool, err := worker.New(&failingSource{Queue: q}, worker.Options[string]{
		Workers: 1, BatchSize: 2, Linger: time.Hour,
		HandleBatch: func(context.Context, []string) []error { return nil },
	})
	require.NoError(t, err)
	require.Panics(t, func() { _ = pool.Run(context.Background()) })
	require.Equal(t, 1, q.Len())
	require.Zero(t, q.Stats().Processing)
}

func TestC77DebounceWithALongestWait(t *testing.T) {
	c := newDelayed()
	debounce := coalesce.PutOptions{Delay: time.Second, Policy: shardq.KeepLatest, MaxWait: 3 * time.Second}
	for range 5 { // each within a second of the one before
		require.NoError(t, c.PutWith("a", "x", debounce))
		require.Zero(t, c.Queue().Len())
		c.clock.Step(600 * time.Millisecond)
	}
	c.takes(t, "a", "xxxxx") // after 3 s
	c.Done("a")
	require.NoError(t, c.PutWith("a", "y", debounce))
	c.clock.Step(900 * time.Millisecond)
	require.Zero(t, c.Queue().Len())
	c.clock.Step(200 * time.Millisecond)
	c.takes(t, "a", "y")
}

func TestC77PutEndsADelay(t *testing.T) {
	c := newDelayed()
	require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Delay: time.Hour}))
	require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Policy: shardq.KeepLatest}))
	require.Zero(t, c.Queue().Len())
	require.NoError(t, c.Put("a", "3"))
	c.takes(t, "a", "123")
	require.NoError(t, c.PutWith("a", "4", coalesce.PutOptions{Delay: time.Hour}))
	require.NoError(t, c.PutBack("a", "-"))
	c.takes(t, "a", "-4")
	c.Done("a")
	require.NoError(t, c.Put("b", "1"))
	require.NoError(t, c.PutWith("b", "2", coalesce.PutOptions{Delay: time.Hour}))
	c.takes(t, "b", "12") // it was ready
	c.Done("b")
	c.clock.Step(2 * time.Hour)
	require.Zero(t, c.Queue().Len(), "no delay was left")
}

func TestC77BackoffOutlastsADelay(t *testing.T) {
	c := newDelayed()
	require.NoError(t, c.Put("a", "1"))
	c.takes(t, "a", "1")
	require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Delay: time.Second, MaxWait: time.Second}))
	require.NoError(t, c.Retry("a", "1"))
	require.NoError(t, c.PutWith("a", "3", coalesce.PutOptions{Delay: time.Second, Policy: shardq.KeepNew}))
	c.clock.Step(59 * time.Minute)
	require.Zero(t, c.Queue().Len())
	c.clock.Step(2 * time.Minute)
	c.takes(t, "a", "123")
}

func TestC77Priorities(t *testing.T) {
	c := newDelayed()
	require.NoError(t, c.Put("low", "1"))
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Priority: 5}))
	claim, err := c.Claim(context.Background())
	require.NoError(t, err)
	require.Equal(t, "a", claim.Item.Key)
	require.Equal(t, 5, claim.Priority)
	require.NoError(t, claim.Retry())
	c.clock.Step(2 * time.Hour)
	batch := make([]worker.Claim[coalesce.Entry[string, string]], 2)
	n, err := c.ClaimBatch(context.Background(), batch)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, "a", batch[0].Item.Key)
	require.Equal(t, 5, batch[0].Priority)
	require.Zero(t, batch[1].Priority)
}

// A Put requests 0, which is more than a priority below it.
func TestC77LowPriorities(t *testing.T) {
	priority := func(c delayedJoiner) int {
		claim, err := c.Claim(context.Background())
		require.NoError(t, err)
		require.NoError(t, claim.Release())
		return claim.Priority
	}
	low := coalesce.PutOptions{Priority: -3}
	for _, delay := range []time.Duration{0, time.Second} {
		c := newDelayed()
		low.Delay = delay
		require.NoError(t, c.PutWith("a", "1", low))
		require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Delay: delay, Priority: -2}))
		c.clock.Step(time.Second)
		require.Equal(t, -2, priority(c))
		require.NoError(t, c.Put("a", "3")) // beside a value that went back
		require.Zero(t, priority(c))
	}
}

// A value that goes back has the highest priority of it and of newer ones.
func TestC77ReturnKeepsPriorities(t *testing.T) {
	for _, putEnds := range []bool{false, true} {
		for _, priorities := range [][2]int{{3, 7}, {7, 3}, {-2, 0}} {
			c := newDelayed(func(o *coalesce.Options[string, string]) { o.PutEndsBackoff = putEnds })
			require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Priority: priorities[0]}))
			claim, err := c.Claim(context.Background())
			require.NoError(t, err)
			require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Priority: priorities[1]}))
			require.NoError(t, claim.Retry())
			c.clock.Step(2 * time.Hour)
			claim, err = c.Claim(context.Background())
			require.NoError(t, err)
			require.Equal(t, max(priorities[0], priorities[1]), claim.Priority, "%v, PutEndsBackoff: %v", priorities, putEnds)
		}
	}
}

func TestC77DrainReturnsDelayedValues(t *testing.T) {
	c := newDelayed()
	require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Delay: time.Hour}))
	dropped, err := c.Drain(context.Background(), shardq.DrainOptions{})
	require.NoError(t, err)
	require.Equal(t, []coalesce.Entry[string, string]{{Key: "a", Value: "1"}}, dropped)
	require.Panics(t, func() { _ = c.PutWith("a", "1", coalesce.PutOptions{Policy: 9}) })
	require.ErrorIs(t, c.PutWith("a", "1", coalesce.PutOptions{}), shardq.ErrShutDown)
	nan := coalesce.MustNew(coalesce.Options[float64, string]{Merge: joined})
	require.ErrorIs(t, nan.PutWith(math.NaN(), "1", coalesce.PutOptions{}), shardq.ErrRejected)
}

func TestC78CancelTakesTheValueBack(t *testing.T) {
	c := newDelayed()
	_, ok := c.Cancel("a")
	require.False(t, ok)
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.PutWith("b", "2", coalesce.PutOptions{Delay: time.Hour}))
	for key, want := range map[string]string{"a": "1", "b": "2"} {
		value, ok := c.Cancel(key)
		require.True(t, ok)
		require.Equal(t, want, value)
	}
	require.Zero(t, c.Len())
	require.Zero(t, c.Queue().Len())
	require.Zero(t, c.Stats().Delayed)
	require.NoError(t, c.Put("a", "3"))
	c.takes(t, "a", "3")
	require.NoError(t, c.Put("a", "4"))
	value, ok := c.Cancel("a")
	require.True(t, ok)
	require.Equal(t, "4", value)
	require.NoError(t, c.Put("a", "5"))
	c.Done("a")
	c.takes(t, "a", "5")
}

// TestC78CancelLeavesWhatAWorkerHas checks that a Cancel takes back what is
// pending, and does not end the run of a value that a worker has.
func TestC78CancelLeavesWhatAWorkerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newDelayed()
		var ran []string
		pool, err := worker.New(c, worker.Options[coalesce.Entry[string, string]]{
			Workers: 1, CancelIfCanceled: true, CancelIfAddedAgain: true,
			Handle: func(ctx context.Context, e coalesce.Entry[string, string]) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Second):
					ran = append(ran, e.Value)
					return nil
				}
			},
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(ctx) }()
		require.NoError(t, c.Put("a", "1"))
		synctest.Wait()
		require.NoError(t, c.Put("a", "2")) // interrupts the run: its value goes back
		_, _ = c.Cancel("a")
		time.Sleep(time.Minute)
		require.NoError(t, c.Put("a", "3"))
		synctest.Wait()
		_, canceled := c.Cancel("a")
		require.False(t, canceled, "a worker has it")
		time.Sleep(time.Minute)
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, "3", ran[len(ran)-1])
		require.Zero(t, c.Len())
	})
}

func TestC78CancelAfterAMergeThatPanicked(t *testing.T) {
	c := newDelayed(capacityOf(3))
	require.NoError(t, c.Put("a", "1"))
	c.takes(t, "a", "1")
	require.NoError(t, c.Put("a", "!"))
	require.NoError(t, c.PutBack("a", "1"))
	require.Panics(t, func() { c.Cancel("a") })
	for _, want := range []string{"1", "!"} {
		value, ok := c.Cancel("a")
		require.True(t, ok)
		require.Equal(t, want, value)
	}
	require.Zero(t, c.Stats().Values.Weight)
}

func readable(o *coalesce.Options[string, string]) { o.Readable = true }

func TestC78PeekSeesWhatWasPut(t *testing.T) {
	c := newDelayed(readable)
	peek := func(want string) {
		t.Helper()
		value, ok := c.Peek("a")
		require.Equal(t, want, value)
		require.Equal(t, want != "", ok)
		seen := ""
		for key, value := range c.Range() {
			require.Equal(t, "a", key)
			seen += value
		}
		require.Equal(t, want, seen)
	}
	peek("")
	require.NoError(t, c.Put("a", "1"))
	peek("1")
	c.takes(t, "a", "1")
	peek("1")
	require.NoError(t, c.Put("a", "2"))
	peek("12")
	require.NoError(t, c.Retry("a", "1"))
	peek("12")
	c.clock.Step(2 * time.Hour)
	claim, err := c.Claim(context.Background())
	require.NoError(t, err)
	peek("12")
	require.NoError(t, c.Put("a", "3"))
	require.NoError(t, claim.Done())
	peek("3")
	c.ShutDown()
	c.takes(t, "a", "3")
	require.ErrorIs(t, claim.Done(), worker.ErrClaimEnded)
	peek("3")
	c.DoneBatch([]coalesce.Entry[string, string]{{Key: "a"}})
	peek("")
	require.Panics(t, func() { newDelayed().Peek("a") })
	require.Panics(t, func() { newDelayed().Range() })
}

// While a Put merges, its older value and those behind it can be read.
func TestC78PeekDuringAMerge(t *testing.T) {
	var c *coalesce.Coalescer[string, string]
	seen := ""
	c = newJoiner(1, readable, func(o *coalesce.Options[string, string]) {
		o.Merge = func(pending, next string) string {
			if next == "2" && seen == "" {
				seen = "?"
				_ = c.Put("a", "3")
				seen, _ = c.Peek("a")
				_, canceled := c.Cancel("a")
				if canceled {
					seen = "canceled"
				}
			}
			return pending + next
		}
	})
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.Put("a", "2"))
	require.Equal(t, "13", seen, "the Put of 2 has not returned")
	value, ok := c.Cancel("a")
	require.True(t, ok)
	require.Equal(t, "123", value)
}

func TestHelpersOfBatches(t *testing.T) {
	fault := errors.New("fault")
	require.Nil(t, worker.FailAll(2, nil))
	require.Equal(t, []error{fault, fault}, worker.FailAll(2, fault))
	require.Equal(t, []error{nil, fault}, worker.FailFrom(2, 1, fault))
	require.Equal(t, []error{nil, nil}, worker.FailFrom(2, 2, fault))
	require.Equal(t, []error{nil, fault}, worker.FailSome(2, map[int]error{1: fault}))
	require.Nil(t, worker.FailSome(2, nil))
	for want, call := range map[string]func(){
		"worker: FailAll was called with n -1: want 0 or more":                                            func() { worker.FailAll(-1, fault) },
		"worker: FailFrom was called with n -1: want 0 or more":                                           func() { worker.FailFrom(-1, -1, fault) },
		"worker: FailFrom was called with first 4: want 0 to n, which is 3":                               func() { worker.FailFrom(3, 4, nil) },
		"worker: FailFrom was called with first -1: want 0 to n, which is 3":                              func() { worker.FailFrom(3, -1, fault) },
		"worker: FailSome was called with n -2: want 0 or more":                                           func() { worker.FailSome(-2, nil) },
		"worker: FailSome was called with the index 2 in failed: want 0 or more and below n, which is 2":  func() { worker.FailSome(2, map[int]error{2: fault}) },
		"worker: FailSome was called with the index -1 in failed: want 0 or more and below n, which is 2": func() { worker.FailSome(2, map[int]error{-1: fault}) },
	} {
		require.PanicsWithValue(t, want, call)
	}
}
