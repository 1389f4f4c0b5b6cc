package contract

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Run returns without the handlers that hang, and names their items and all that
// is left. What such a handler does later changes nothing. Its items are ready
// again, or after a drain Done. An item that did not fit into a batch is ready.
func TestC49AbandonedHandlers(t *testing.T) {
	for name, late := range map[string]func() error{
		"nil": func() error { return nil }, "error": func() error { return errOnPurpose },
		"again":     func() error { return worker.RequeueAfter(time.Second) },
		"permanent": func() error { return worker.Permanent(errOnPurpose) },
		"panic":     func() error { panic(errOnPurpose) }, "Goexit": func() error { runtime.Goexit(); return nil },
	} {
		for _, drains := range []bool{false, true} {
			finish := make(map[string]chan struct{})
			began := make(chan struct{}, 9)
			handle := func(_ context.Context, item string) error {
				began <- struct{}{}
				if hangs := finish[item]; hangs != nil {
					<-hangs
					return late()
				}
				time.Sleep(time.Second)
				return nil
			}
			t.Run(name, func(t *testing.T) {
				forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
					finish["hangs"] = make(chan struct{})
					q := shardq.MustNew(shardq.Options[string]{Name: "mail", Shards: 1, Metrics: true})
					o.AbandonAfter, o.MaxAttempts = 5*time.Second, 1
					processing := 1
					if o.HandleBatch != nil {
						processing, o.BatchWeight, o.Weigh = 2, 6, func(item string) int { return 9 - len(item) }
					}
					if drains {
						o.Drain, o.DrainTimeout = q.DrainWith(shardq.DrainOptions{}), 2*time.Second
					}
					s := startPool(t, q, o)
					q.AddBatch([]string{"hangs", "held"}, shardq.AddOptions{})
					synctest.Wait()
					require.Equal(t, processing, q.Stats().Processing)
					s.Resize(2)
					q.AddBatch([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}, shardq.AddOptions{})
					synctest.Wait()
					s.stop()
					start := time.Now()
					for !s.ended() {
						time.Sleep(time.Second / 4)
						synctest.Wait()
					}
					took := 5 * time.Second
					if drains {
						took += 2 * time.Second
					}
					require.Equal(t, took, time.Since(start))
					over, is := errors.AsType[*worker.LeftoverError[string]](s.err)
					require.True(t, is)
					require.Len(t, over.Left(), 1)
					f := over.Left()[0]
					require.Equal(t, worker.Failure[string]{
						Queue: "mail", Item: "hangs", Err: f.Err, Reason: worker.ReasonAbandoned, Duration: took, Attempt: 1,
					}, f)
					require.ErrorContains(t, s.err, `worker: queue "mail": items left over: 1`)
					left, is := errors.AsType[*shardq.DrainError[string]](s.err)
					require.Equal(t, drains, is)
					if is {
						require.Equal(t, q.Stats().Ready+1, len(left.Left()))
						require.Equal(t, "hangs", left.Left()[0].Item)
					}
					require.Equal(t, 1, s.Len(), "its goroutine goes on")
					require.Equal(t, 1, q.Stats().Processing)

					before, attempts := q.Stats(), countAttempts(q)
					if !drains {
						q.Add("hangs") // it is dirty
					}
					close(finish["hangs"])
					synctest.Wait()
					ready := before.Ready
					if !drains {
						ready++
					}
					require.Equal(t, ready, q.Stats().Ready)
					require.Zero(t, q.Stats().Processing)
					require.Equal(t, attempts, countAttempts(q))
					require.Zero(t, q.NumRequeues("hangs")+len(s.failed)+len(s.discarded)+len(s.leftover)+s.Len())
					require.Zero(t, q.Stats().Discarded+q.Stats().Misused)
				})
			})
		}
	}
}

func countAttempts(q *shardq.Queue[string]) (n uint64) {
	for _, h := range q.Stats().Metrics.Attempts.All() {
		n += h.Count
	}
	return n
}

// A worker that is about to call its handler when the time is up is abandoned as
// soon as it does.
func TestC49HandlerThatBeginsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shelf, finish, breaks := newShelf("a", "b"), make(chan struct{}), make(chan struct{})
		source := sourceFunc(func(_ context.Context, dst []worker.Claim[string]) (int, error) {
			if n, _, _ := shelf.claimNow(dst); n > 0 {
				return n, nil
			}
			<-breaks
			return 0, errOnPurpose
		})
		slots := &testSlots{Source: source, show: func(items []string) {
			if len(items) > 0 {
				time.Sleep(time.Minute)
			}
		}}
		s := startPool(t, slots, worker.Options[string]{Workers: 3, AbandonAfter: time.Second, Handle: func(context.Context, string) error {
			<-finish
			return nil
		}})
		synctest.Wait()
		close(breaks)
		time.Sleep(59 * time.Second)
		requireStillFalse(t, s.ended, "the handler is not called yet")
		time.Sleep(time.Second)
		requireBecomesTrue(t, s.ended)
		require.ErrorContains(t, s.err, "items left over: 2")
		require.ErrorIs(t, s.err, errOnPurpose)
		close(finish)
		synctest.Wait()
		require.ElementsMatch(t, []string{"a", "b"}, shelf.ready)
	})
}

// The claims of an abandoned batch are released, and do not end once more.
func TestC49AbandonedBatchOfASource(t *testing.T) {
	for _, errs := range [][]error{nil, {nil, errOnPurpose}, {errOnPurpose, errOnPurpose}} {
		synctest.Test(t, func(t *testing.T) {
			shelf, finish := newShelf("a", "b"), make(chan struct{})
			source := batcher{strict{shelf, func() error { t.Error("a claim is Done"); return nil }}}
			s := startPool(t, source, worker.Options[string]{AbandonAfter: time.Second, BatchSize: 2,
				HandleBatch: func(context.Context, []string) []error { <-finish; return errs }})
			synctest.Wait()
			s.stop()
			time.Sleep(time.Second)
			requireBecomesTrue(t, s.ended)
			require.ErrorContains(t, s.err, "items left over: 2")
			close(finish)
			synctest.Wait()
			require.Equal(t, []string{"a", "b"}, shelf.ready)
		})
	}
}

// Run waits for a hook and for closeSlot, however long they take, and so neither
// is called after it.
func TestC51HooksAreNotAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string](1)
		source := &testSlots{Source: q, closeSlot: func() { time.Sleep(time.Minute) }}
		s := startPool(t, source, worker.Options[string]{
			Workers: 2, AbandonAfter: time.Second,
			Handle: func(_ context.Context, item string) error {
				if item == "hangs" {
					time.Sleep(time.Hour) // the race detector sees that nothing else ends it
				}
				return errOnPurpose
			},
			OnError: func(context.Context, worker.Failure[string]) { time.Sleep(time.Minute) },
		})
		q.AddBatch([]string{"fails", "hangs"}, shardq.AddOptions{})
		synctest.Wait()
		s.stop()
		time.Sleep(59 * time.Second)
		requireStillFalse(t, s.ended, "a hook is called")
		time.Sleep(time.Minute)
		requireStillFalse(t, s.ended, "a slot is closed")
		time.Sleep(time.Second)
		requireBecomesTrue(t, s.ended)
		require.ErrorContains(t, s.err, "items left over: 1")
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Zero(t, s.Len())
	})
}
