package contract

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// An item that fails while the workers drain is retried after the limiter's
// delay, unless the options refuse that. MaxAttempts still limits the attempts.
func TestC49DrainRetries(t *testing.T) {
	for name, test := range map[string]struct {
		retries                  shardq.RetryPolicy
		failures                 int
		runs, discarded, dropped int
	}{
		"one failure":          {shardq.DefaultRetries, 1, 2, 0, 0},
		"asked for":            {shardq.AcceptRetries, 1, 2, 0, 0},
		"four failures":        {shardq.DefaultRetries, 4, 5, 0, 0},
		"it fails to the last": {shardq.DefaultRetries, 5, 5, 1, 0},
		"refused":              {shardq.RefuseRetries, 1, 1, 1, 0},
	} {
		for _, waiting := range []shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed, shardq.AwaitDelayed} {
			runs := 0
			var gate chan struct{}
			handle := func(ctx context.Context, item string) error {
				<-gate
				if runs++; runs <= test.failures {
					return errOnPurpose
				}
				return ctx.Err()
			}
			t.Run(name, func(t *testing.T) {
				forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
					gate, runs = make(chan struct{}), 0
					q := shardq.MustNew(shardq.Options[string]{RateLimiter: limiter.NewExponential[string](50*time.Millisecond, time.Second)})
					o.MaxAttempts, o.DrainTimeout = 5, 10*time.Second
					o.Drain = q.DrainWith(shardq.DrainOptions{Delayed: waiting, Retries: test.retries})
					s := startPool(t, q, o)
					q.Add("a")
					synctest.Wait()
					s.stop()
					requireStillFalse(t, s.ended, "an item is in processing")
					close(gate)
					time.Sleep(9 * time.Second)
					s.requireEnds(t)
					require.Equal(t, test.runs, runs)
					require.Len(t, s.discarded, test.discarded)
					requireCounts(t, q, 0, 0, 0)
					require.Zero(t, q.NumRequeues("a"))
					requireGetSaysShutdown(t, q)
				})
			})
		}
	}
}

// Nothing is lost if a sink is down for a while around the end of the context,
// with a Queue and with a Coalescer: items that fail and values that are put
// until then are written.
func TestC49DrainOutlastsASinkThatIsAway(t *testing.T) {
	for _, batch := range []int{0, 16} {
		synctest.Test(t, func(t *testing.T) {
			c := coalesce.MustNew(coalesce.Options[int, int]{
				Queue: shardq.Options[int]{RateLimiter: limiter.NewExponential[int](5*time.Millisecond, time.Second)},
				Merge: func(a, b int) int { return a + b },
			})
			begin, written, put := time.Now(), 0, 0
			away := func() bool {
				d := time.Since(begin)
				return d >= 700*time.Millisecond && d < 1300*time.Millisecond
			}
			write := func(_ context.Context, one coalesce.Entry[int, int]) error {
				if away() {
					return errOnPurpose
				}
				written += one.Value
				return nil
			}
			o := worker.Options[coalesce.Entry[int, int]]{
				Workers: 1, DrainTimeout: 5 * time.Second,
				Drain:     c.DrainWith(shardq.DrainOptions{Delayed: shardq.AwaitDelayed}),
				OnDiscard: func(context.Context, worker.Failure[coalesce.Entry[int, int]]) { t.Error("a value is discarded") },
			}
			if batch == 0 {
				o.Handle = write
			} else {
				o.BatchSize = batch
				o.HandleBatch = func(ctx context.Context, all []coalesce.Entry[int, int]) (errs []error) {
					for _, one := range all {
						errs = append(errs, write(ctx, one))
					}
					return errs
				}
			}
			w, err := worker.New(c, o)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := returned(func() { err = w.Run(ctx) })
			for range 1000 {
				require.NoError(t, c.Put(put%50, 1))
				put++
				time.Sleep(time.Millisecond)
			}
			cancel()
			time.Sleep(4 * time.Second)
			requireBecomesTrue(t, ended)
			require.NoError(t, err)
			require.Equal(t, put, written)
			require.Zero(t, c.Len())
		})
	}
}

// Adds of items in processing are accepted, by every method, and no others are.
// The policy decides about items that are delayed when the drain begins.
// Retries are delayed after that.
func TestC42RetriesAreAccepted(t *testing.T) {
	for name, retry := range map[string]func(q *shardq.Queue[string], item string){
		"Add":            func(q *shardq.Queue[string], item string) { q.Add(item) },
		"AddBatch":       func(q *shardq.Queue[string], item string) { q.AddBatch([]string{item}, shardq.AddOptions{}) },
		"AddAfter":       func(q *shardq.Queue[string], item string) { q.AddAfter(item, time.Second) },
		"AddRateLimited": (*shardq.Queue[string]).AddRateLimited,
		"AddWith": func(q *shardq.Queue[string], item string) {
			q.AddWith(item, shardq.AddOptions{After: time.Second, Priority: 3})
		},
		"AddWith a priority": func(q *shardq.Queue[string], item string) { q.AddWith(item, shardq.AddOptions{Priority: 3}) },
	} {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				for _, waiting := range []shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed, shardq.AwaitDelayed} {
					q := newQueue[string](shards)
					q.Add("held")
					takeItem(t, q, "held")
					q.AddAfter("delayed", time.Minute)
					d := drain(t.Context(), q, shardq.DrainOptions{Delayed: waiting, Retries: shardq.AcceptRetries})
					synctest.Wait()
					retry(q, "new")
					retry(q, "delayed")
					retry(q, "held")
					q.Done("held")
					retry(q, "held") // not in processing: an ordinary add
					requireStillFalse(t, d.returned, "an item is to run again")
					time.Sleep(2 * time.Second)
					got := finishAll(t, q)
					if waiting == shardq.AwaitDelayed {
						requireStillFalse(t, d.returned, "an item is delayed")
						time.Sleep(time.Minute)
						synctest.Wait()
						got = append(got, finishAll(t, q)...)
					}
					requireBecomesTrue(t, d.returned)
					require.NoError(t, d.err)
					if waiting == shardq.DropDelayed {
						require.Equal(t, []string{"held"}, got)
						require.Equal(t, []string{"delayed"}, d.dropped)
					} else {
						require.ElementsMatch(t, []string{"held", "delayed"}, got)
						require.Empty(t, d.dropped)
					}
					requireGetSaysShutdown(t, q)
				}
			})
		})
	}
}

// A drain that accepts retries ends with the last event: a Done, a Cancel, or a
// delay that another drain drops. A parked worker stays until then.
func TestC42LastEventOfADrainWithRetries(t *testing.T) {
	for name, last := range map[string]func(t *testing.T, q *shardq.Queue[string]){
		"Cancel": func(t *testing.T, q *shardq.Queue[string]) { require.True(t, q.Cancel("a").Delayed) },
		"a drain that drops it": func(t *testing.T, q *shardq.Queue[string]) {
			dropped, err := q.Drain(t.Context(), shardq.DrainOptions{})
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, dropped)
		},
		"its run": func(_ *testing.T, q *shardq.Queue[string]) { time.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				q := newQueue[string](shards)
				q.Add("a")
				takeItem(t, q, "a")
				worker := returned(func() {
					for {
						item, shutdown := q.Get()
						if shutdown {
							return
						}
						q.Done(item)
					}
				})
				one := drain(t.Context(), q, shardq.DrainOptions{Retries: shardq.AcceptRetries})
				two := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed, Retries: shardq.AcceptRetries})
				synctest.Wait()
				q.AddAfter("a", time.Hour)
				q.Done("a")
				requireStillFalse(t, worker, "an item is to run again")
				require.False(t, one.returned() || two.returned())
				last(t, q)
				requireBecomesTrue(t, one.returned)
				requireBecomesTrue(t, two.returned)
				requireBecomesTrue(t, worker)
				require.NoError(t, errors.Join(one.err, two.err))
				require.Empty(t, one.dropped)
			})
		})
	}
}

// A ShutDown ends such a drain, which returns what the shutdown dropped.
// Another drain, without retries, makes the queue refuse them.
func TestC42OtherEndsBesideRetries(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
		takeAll(t, q)
		d := drain(t.Context(), q, shardq.DrainOptions{Retries: shardq.AcceptRetries})
		synctest.Wait()
		q.AddAfter("a", time.Hour)
		q.Done("a")
		await := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		synctest.Wait()
		q.AddAfter("b", time.Hour) // refused
		require.EqualValues(t, 1, q.Stats().Dropped)
		q.ShutDown()
		synctest.Wait()
		require.ErrorIs(t, d.err, shardq.ErrShutDown)
		require.ErrorIs(t, await.err, shardq.ErrShutDown)
		require.Equal(t, []string{"a"}, append(d.dropped, await.dropped...), "what was waited for is not lost")
		q.Done("b")
		requireCounts(t, q, 0, 0, 0)
	})
}

// With retries a Coalescer accepts returned values until the drain is over, and
// merges them as before. Without, it does not.
func TestC57DrainTakesValuesBack(t *testing.T) {
	for _, back := range []func(c *textCoalescer) error{
		func(c *textCoalescer) error { return c.Retry("a", "1") },
		func(c *textCoalescer) error { return c.PutBack("a", "1") },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newTexts()
			require.NoError(t, c.Put("a", "1"))
			takeValue(t, c, "a", "1")
			require.NoError(t, c.Put("a", "2"))
			var dropped []text
			err := errors.New("it has not returned")
			drained := returned(func() {
				dropped, err = c.Drain(t.Context(), shardq.DrainOptions{Retries: shardq.AcceptRetries})
			})
			synctest.Wait()
			require.ErrorIs(t, c.Put("a", "3"), shardq.ErrShutDown)
			require.NoError(t, back(c))
			requireStillFalse(t, drained, "a value is pending")
			time.Sleep(time.Minute)
			takeValue(t, c, "a", "12")
			c.Done("a")
			requireBecomesTrue(t, drained)
			require.NoError(t, err)
			require.Empty(t, dropped)
			require.ErrorIs(t, back(c), shardq.ErrShutDown)
			requireNothing(t, c)
		})
	}
}

// A ShutDown beside a drain with retries makes delayed values ready at once,
// and accepts no returned values any more.
func TestC57ShutDownBesideRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTexts()
		for _, key := range []string{"a", "b"} {
			require.NoError(t, c.Put(key, "1"))
			takeValue(t, c, key, "1")
		}
		var err error
		drained := returned(func() { _, err = c.Drain(t.Context(), shardq.DrainOptions{Retries: shardq.AcceptRetries}) })
		synctest.Wait()
		require.NoError(t, c.Retry("a", "1"))
		c.ShutDown()
		require.ErrorIs(t, c.Retry("b", "1"), shardq.ErrShutDown)
		c.Done("b")
		requireBecomesTrue(t, drained)
		require.ErrorIs(t, err, shardq.ErrShutDown)
		takeValue(t, c, "a", "1")
		c.Done("a")
		requireNothing(t, c)
	})
}
