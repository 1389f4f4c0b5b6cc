package contract

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// keyDelays are the ways in which a key with the pending value "1" is delayed.
var keyDelays = map[string]func(*testing.T, delayedJoiner){
	"backoff": func(t *testing.T, c delayedJoiner) {
		require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Delay: -1}))
		c.takes(t, "a", "1")
		require.NoError(t, c.Retry("a", "1"))
	},
	"PutWith": func(t *testing.T, c delayedJoiner) {
		require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Delay: time.Hour}))
	},
	"linger": func(t *testing.T, c delayedJoiner) { require.NoError(t, c.Put("a", "1")) },
}

// forEachDelay runs a test for each kind of delay, with and without
// PutEndsBackoff.
func forEachDelay(t *testing.T, test func(t *testing.T, c delayedJoiner)) {
	for name, begin := range keyDelays {
		t.Run(name, func(t *testing.T) {
			forEachBackoff(t, func(t *testing.T, backoff func(*coalesce.Options[string, string]), _ bool) {
				c := newDelayed(lingering(time.Hour, 0), backoff)
				begin(t, c)
				require.Equal(t, 1, c.Stats().Delayed)
				test(t, c)
			})
		})
	}
}

// TestC82ControlsOfACoalescerRetryNow checks that the value of any delayed key
// can be taken at once, that a later put merges with it, and that nothing is
// left of the delay.
func TestC82ControlsOfACoalescerRetryNow(t *testing.T) {
	forEachDelay(t, func(t *testing.T, c delayedJoiner) {
		operator := c.Inspect().Operator()
		require.False(t, operator.RetryNow("unknown"))
		require.False(t, operator.RetryNow(7), "another type")
		require.True(t, operator.RetryNow("a"))
		require.False(t, operator.RetryNow("a"), "it is ready")
		require.Zero(t, c.Stats().Values.Lingering)
		require.NoError(t, c.Put("a", "2"))
		require.NoError(t, c.PutWith("a", "3", coalesce.PutOptions{Delay: time.Hour}))
		c.takes(t, "a", "123")
		require.NoError(t, c.PutWith("b", "1", coalesce.PutOptions{Delay: time.Hour}))
		require.Zero(t, c.Stats().Values.Lingering, "b is delayed, and a does not linger")
		c.Done("a")

		require.NoError(t, c.Put("a", "4")) // it lingers as a new key does
		require.Equal(t, 1, c.Stats().Values.Lingering)
		require.Zero(t, c.Queue().Len())
		c.clock.Step(2 * time.Hour)
		require.Equal(t, 2, c.Queue().Len())
	})
}

// TestC82ControlsOfACoalescerRetryWhileAWorkerHasTheKey checks that a value
// that is retried during a processing is taken after it, also if the processed
// value goes back.
func TestC82ControlsOfACoalescerRetryWhileAWorkerHasTheKey(t *testing.T) {
	for name, end := range map[string]func(delayedJoiner) error{
		"12": func(c delayedJoiner) error { return c.PutBack("a", "1") },
		"2":  func(c delayedJoiner) error { c.Done("a"); return nil },
	} {
		c := newDelayed()
		require.NoError(t, c.Put("a", "1"))
		c.takes(t, "a", "1")
		require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Delay: time.Hour}))
		require.True(t, c.Inspect().Operator().RetryNow("a"))
		require.Zero(t, c.Queue().Len(), "a worker has it")
		require.NoError(t, end(c))
		c.takes(t, "a", name)
	}
}

// TestC82ControlsOfACoalescerRetryInADrain checks that a drain that awaits
// delayed keys ends when they are retried, and that ShutDown leaves no delay to
// end.
func TestC82ControlsOfACoalescerRetryInADrain(t *testing.T) {
	forEachDelay(t, func(t *testing.T, c delayedJoiner) {
		c.ShutDown()
		require.False(t, c.Inspect().Operator().RetryNow("a"))
		c.takes(t, "a", "1")
	})
	synctest.Test(t, func(t *testing.T) {
		c := newDelayed()
		keyDelays["backoff"](t, c)
		drained := make(chan error, 1)
		go func() {
			_, err := c.Drain(context.Background(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
			drained <- err
		}()
		synctest.Wait()
		require.True(t, c.Inspect().Operator().RetryNow("a"))
		c.takes(t, "a", "1")
		c.Done("a")
		require.NoError(t, <-drained)
		require.Zero(t, c.Stats().Dropped)
	})
}

// TestC82ControlsOfACoalescerCancel checks that a cancel drops the pending
// value and its weight, and reports how the queue had the key.
func TestC82ControlsOfACoalescerCancel(t *testing.T) {
	c := newDelayed(weighed)
	operator := c.Inspect().Operator()
	require.Equal(t, shardq.Canceled{}, operator.Cancel("a"), "there is no value")
	require.NoError(t, c.Put("a", "1"))
	require.Equal(t, shardq.Canceled{}, operator.Cancel(7), "another type")
	require.Equal(t, shardq.Canceled{Ready: true}, operator.Cancel("a"))
	requireNothing(t, c.Coalescer)

	require.NoError(t, c.PutWith("a", "2", coalesce.PutOptions{Delay: time.Hour}))
	require.Equal(t, shardq.Canceled{Delayed: true}, operator.Cancel("a"))
	require.Zero(t, c.Stats().Held)

	require.NoError(t, c.Put("a", "3"))
	c.takes(t, "a", "3")
	require.Equal(t, shardq.Canceled{}, operator.Cancel("a"), "a worker has the value")
	require.NoError(t, c.PutWith("a", "4", coalesce.PutOptions{Delay: time.Hour}))
	require.Equal(t, shardq.Canceled{Delayed: true}, operator.Cancel("a"))
	require.NoError(t, c.Put("a", "5"))
	require.Equal(t, shardq.Canceled{Dirty: true}, operator.Cancel("a"))
	require.NoError(t, c.Put("a", "6"))
	c.Done("a")
	c.takes(t, "a", "6")
	c.Done("a")

	require.NoError(t, c.Put("a", "7"))
	c.ShutDown()
	require.Equal(t, shardq.Canceled{Ready: true}, operator.Cancel("a"), "after a shutdown")
	require.Equal(t, shardq.Canceled{}, operator.Cancel("a"))
	_, _, err := c.Take(context.Background())
	require.ErrorIs(t, err, shardq.ErrShutDown)
	requireNothing(t, c.Coalescer)
}

// TestC82ControlsOfACoalescerLoseNothing checks that each value is either
// taken, or dropped by one cancel that reports it, while puts, takes, retries
// and cancels race.
func TestC82ControlsOfACoalescerLoseNothing(t *testing.T) {
	n := scaled(20_000, 2_000)
	c := newJoiner(2, lingering(time.Hour, 0))
	operator := c.Inspect().Operator()
	var taken, dropped atomic.Int64
	var takers sync.WaitGroup
	for range 2 {
		takers.Go(func() {
			for {
				key, _, err := c.Take(context.Background())
				if err != nil {
					return
				}
				taken.Add(1)
				c.Done(key)
			}
		})
	}
	together(3, func(i int) {
		for number := range n {
			key := strconv.Itoa(number)
			switch {
			case i == 0:
				assert.NoError(t, c.Put(key, "1"))
			case i == 1:
				operator.RetryNow(key)
			case operator.Cancel(key).Any():
				dropped.Add(1)
			}
		}
	})
	c.ShutDown()
	takers.Wait()
	require.EqualValues(t, n, taken.Load()+dropped.Load())
	requireNothing(t, c)
	require.Zero(t, c.Stats().Values.Lingering)
}

// TestC82ControlsOfACoalescerLeaveAWorkerAlone checks that no action ends the
// run of a value that a worker has.
func TestC82ControlsOfACoalescerLeaveAWorkerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJoiner(1)
		end := make(chan struct{})
		var got []string
		pool, err := worker.New(c, worker.Options[coalesce.Entry[string, string]]{
			Workers: 1, CancelIfCanceled: true,
			Handle: func(ctx context.Context, e coalesce.Entry[string, string]) error {
				<-end
				got = append(got, e.Value)
				return ctx.Err()
			},
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- pool.Run(ctx) }()
		require.NoError(t, c.Put("a", "1"))
		synctest.Wait()

		controls := c
		require.NoError(t, c.Put("a", "2"))
		require.Equal(t, shardq.Canceled{Dirty: true}, controls.Inspect().Operator().Cancel("a"))
		require.NoError(t, c.PutWith("a", "3", coalesce.PutOptions{Delay: time.Hour}))
		require.True(t, controls.Inspect().Operator().RetryNow("a"))
		close(end)
		synctest.Wait()
		require.Equal(t, []string{"1", "3"}, got)
		requireNothing(t, c)
		stop()
		require.NoError(t, <-ended)
	})
}

// TestC82ControlsOfACoalescerPause checks the pauses of all keys and of a
// group.
func TestC82ControlsOfACoalescerPause(t *testing.T) {
	c := newDelayed(func(o *coalesce.Options[string, string]) { o.Queue.Group = tenant })
	controls := c
	require.NoError(t, c.Put("a/1", "1"))
	controls.Pause()
	require.True(t, controls.Stats().Paused)
	controls.Resume()
	require.False(t, controls.Stats().Paused)
	controls.PauseGroup("a", c.clock.Now().Add(time.Minute))
	require.Equal(t, 1, controls.Stats().ThrottledByPause)
	controls.ResumeGroup("a")
	require.Zero(t, controls.Stats().ThrottledByPause)
	c.takes(t, "a/1", "1")
}

// TestC82ControlsOfACoalescerAreEqual checks that a caller recognizes the
// Controls of a coalescer, and that they show what its view does.
func TestC82ControlsOfACoalescerAreEqual(t *testing.T) {
	c, other := newJoiner(1), newJoiner(1)
	var controls shardq.Inspector = c
	require.True(t, controls == c)
	require.False(t, controls == other)
	pools := map[shardq.Inspector]string{c: "first", other: "second"}
	require.Equal(t, "first", pools[controls])

	require.NoError(t, c.Put("a", "1"))
	require.Equal(t, c.Queue().Stats().Values, controls.Stats().Values)
	require.Equal(t, c.Queue().Inspect().Configuration(), controls.Inspect().Configuration())
	info, ok := c.Inspect().Lookup("a")
	require.True(t, ok)
	require.Equal(t, any("a"), info.Item)
}

// TestC82ControlsOfACoalescerUserCodePanics checks that a cancel whose user
// code panics leaves the value pending.
func TestC82ControlsOfACoalescerUserCodePanics(t *testing.T) {
	fault := errors.New("on purpose")
	panics := false
	c := newDelayed(func(o *coalesce.Options[string, string]) {
		o.Queue.Hash = func(string) uint64 {
			if panics {
				panic(fault)
			}
			return 0
		}
	})
	require.NoError(t, c.Put("a", "1"))
	panics = true
	require.PanicsWithError(t, "on purpose", func() { c.Inspect().Operator().Cancel("a") })
	panics = false
	c.takes(t, "a", "1")
}
