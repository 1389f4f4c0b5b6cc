package contract

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/stats"
)

// draining is a running Drain.
type draining[T comparable] struct {
	returned func() bool
	dropped  []T
	err      error
}

// drain starts a Drain.
func drain[T comparable](ctx context.Context, q *shardq.Queue[T], options shardq.DrainOptions) *draining[T] {
	d := &draining[T]{}
	d.returned = returned(func() { d.dropped, d.err = q.Drain(ctx, options) })
	return d
}

func TestC42DrainWaitsForReadyAndProcessing(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		q.Add("b")
		d := drain(t.Context(), q, shardq.DrainOptions{})
		requireStillFalse(t, d.returned, "two are ready")
		first := take(t, q)
		q.Add(first)
		q.Add("c")
		requireStillFalse(t, d.returned, "one is ready, one in processing")
		q.Done(first)
		requireStillFalse(t, d.returned, "one is ready, none in processing")
		q.Done(take(t, q))
		requireBecomesTrue(t, d.returned)
		require.NoError(t, d.err)
		require.Empty(t, d.dropped)
		require.EqualValues(t, 2, q.Stats().Dropped, "adds during the drain")
		requireGetSaysShutdown(t, q)
	})
}

func TestC42DrainRunsDirtyItemsOnceMore(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		takeItem(t, q, "a")
		q.Add("a")
		d := drain(t.Context(), q, shardq.DrainOptions{})
		q.Done("a")
		requireStillFalse(t, d.returned, "ready again")
		takeItem(t, q, "a")
		requireStillFalse(t, d.returned, "in processing again")
		q.Done("a")
		requireBecomesTrue(t, d.returned)
	})
}

// withDelayed returns a queue with three delayed items, one of which is ready
// as well.
func withDelayed(shards int, line timeline) *shardq.Queue[string] {
	q := newQueueOn[string](shards, line)
	q.AddAfter("second", 2*time.Second)
	q.AddAfter("first", time.Second)
	q.Add("ready")
	q.AddAfter("ready", 3*time.Second)
	return q
}

func TestC42DelayedItemsAreDroppedAndReturned(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := withDelayed(shards, bubbleTimeline())
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.DropDelayed})
		requireStillFalse(t, d.returned, "one is ready")
		require.Equal(t, []string{"ready"}, finishAll(t, q))
		requireBecomesTrue(t, d.returned)
		require.NoError(t, d.err)
		require.ElementsMatch(t, []string{"first", "second", "ready"}, d.dropped)
		require.EqualValues(t, 3, q.Stats().Dropped)
	})
}

func TestC42DelayedItemsRunAtOnce(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := withDelayed(shards, bubbleTimeline())
		start := time.Now()
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.RunDelayed})
		synctest.Wait()
		require.ElementsMatch(t, []string{"first", "second", "ready"}, finishAll(t, q))
		requireBecomesTrue(t, d.returned)
		require.NoError(t, d.err)
		require.Empty(t, d.dropped)
		require.Zero(t, time.Since(start))
		requireGetSaysShutdown(t, q)
	})
}

func TestC42DelayedItemsAreAwaited(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := withDelayed(shards, bubbleTimeline())
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		synctest.Wait()
		q.AddAfter("late", time.Second)
		q.Add("late")
		sleeper := returned(func() { _, _ = q.Get(); q.Done("ready") })
		requireBecomesTrue(t, sleeper)
		var order []string
		for range 3 {
			requireStillFalse(t, d.returned, "some wait")
			time.Sleep(time.Second)
			synctest.Wait()
			order = append(order, finishAll(t, q)...)
		}
		requireBecomesTrue(t, d.returned)
		require.NoError(t, d.err)
		require.Empty(t, d.dropped)
		require.Equal(t, []string{"first", "second", "ready"}, order)
		require.EqualValues(t, 2, q.Stats().Dropped, "late adds")
		requireGetSaysShutdown(t, q)
	})
}

// A worker that is parked while a drain awaits delayed items gets them. Only
// then does it get the shutdown.
func TestC42ParkedGetsAreServedWhileDelayedItemsAreAwaited(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.AddAfter("a", time.Second)
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		var got []string
		worker := returned(func() {
			for item := range q.Items(t.Context()) {
				got = append(got, item)
			}
		})
		requireStillFalse(t, worker, "one is still delayed")
		time.Sleep(time.Second)
		requireBecomesTrue(t, worker)
		requireBecomesTrue(t, d.returned)
		require.Equal(t, []string{"a"}, got)
	})
}

// However many items are delayed, each is returned or run.
func TestC42ManyDelayedItems(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		for _, policy := range []shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed} {
			q := newQueue[int](shards)
			for _, item := range numbers(3000) {
				q.AddAfter(item, time.Hour)
			}
			d := drain(t.Context(), q, shardq.DrainOptions{Delayed: policy})
			synctest.Wait()
			run := finishAll(t, q)
			requireBecomesTrue(t, d.returned)
			require.NoError(t, d.err)
			require.ElementsMatch(t, numbers(3000), append(run, d.dropped...))
			if policy == shardq.DropDelayed {
				require.Empty(t, run)
			} else {
				require.Empty(t, d.dropped)
			}
		}
	})
}

func TestC42CanceledItemsAreNotAwaited(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.AddAfter("a", time.Hour)
		q.AddAfter("b", time.Hour)
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		q.Cancel("a")
		requireStillFalse(t, d.returned, "one is delayed")
		q.Cancel("b")
		requireBecomesTrue(t, d.returned)
		require.NoError(t, d.err)
	})
}

func TestC42NothingToDrain(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for policy := range 3 {
			q := newQueue[string](shards)
			for range 2 {
				dropped, err := q.Drain(t.Context(), shardq.DrainOptions{Delayed: shardq.DelayedPolicy(policy)})
				require.NoError(t, err)
				require.Empty(t, dropped)
			}
		}
	})
}

func TestC42EndedContextReportsWhatIsLeft(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[string]{Name: "orders", Shards: shards, Ages: true})
		for _, item := range []string{"old", "new"} {
			q.Add(item)
			takeItem(t, q, item)
			time.Sleep(time.Second)
		}
		q.Add("ready")
		q.AddAfter("delayed", time.Hour)
		q.AddAfter("new", time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		dropped, err := q.Drain(ctx, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		require.Empty(t, dropped)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var left *shardq.DrainError[string]
		require.ErrorAs(t, err, &left)
		require.Equal(t, []string{"old", "new", "ready", "delayed"}, itemsOf(left.Left()))
		require.Equal(t, [4]any{"orders", 2, 1, 1}, [4]any{left.Queue, left.Processing, left.Ready, left.Delayed})
		require.EqualError(t, err, "shardq: queue orders: left undone: 2 processing, 1 ready, 1 delayed: "+
			"context deadline exceeded")

		// Nothing of it is lost: another drain goes on waiting.
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.RunDelayed})
		requireStillFalse(t, d.returned, "two are in processing")
		q.Done("old")
		q.Done("new")
		synctest.Wait()
		require.ElementsMatch(t, []string{"ready", "delayed", "new"}, finishAll(t, q))
		requireBecomesTrue(t, d.returned)
		require.NoError(t, d.err)
	})
}

// However many items are left, each is listed once, and the error's text names
// none.
func TestC42LeftHasEachItemOnce(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueue[int](shards)
		q.AddBatch(numbers(3000), shardq.AddOptions{})
		for item := range 1000 {
			q.AddAfter(item, time.Hour)
			q.AddAfter(3000+item, time.Hour)
		}
		held := make([]int, 100)
		_, err := getBatch(q, t.Context(), held)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = q.Drain(ctx, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		var left *shardq.DrainError[int]
		require.ErrorAs(t, err, &left)
		require.EqualError(t, err, "shardq: left undone: 100 processing, 2900 ready, 1000 delayed: context canceled")
		items := itemsOf(left.Left())
		require.ElementsMatch(t, numbers(4000), items)
		require.ElementsMatch(t, held, items[:100])
	})
}

// With a context that has ended, Drain is a ShutDown that returns what is left.
func TestC42EndedContextBeginsTheShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range 20 { // because chance decides between the two ends
			q := newQueue[string](shards)
			q.AddAfter("delayed", time.Hour)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			dropped, err := q.Drain(ctx, shardq.DrainOptions{})
			require.NoError(t, err, "nothing is left")
			require.Equal(t, []string{"delayed"}, dropped)
			require.True(t, q.ShuttingDown())
			requireGetSaysShutdown(t, q)
		}
	})
}

func TestC42ShutDownEndsDrains(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newQueue[string](shards)
		q.Add("a")
		q.AddAfter("b", time.Hour)
		awaiting := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		requireStillFalse(t, awaiting.returned, "one is ready, one is delayed")
		q.ShutDown()
		requireBecomesTrue(t, awaiting.returned)
		require.ErrorIs(t, awaiting.err, shardq.ErrShutDown)
		require.EqualValues(t, 1, q.Stats().Dropped)

		d := drain(t.Context(), q, shardq.DrainOptions{})
		requireStillFalse(t, d.returned, "one is ready")
		q.ShutDown()
		requireBecomesTrue(t, d.returned)
		require.ErrorIs(t, d.err, shardq.ErrShutDown)
		require.Equal(t, []string{"a"}, finishAll(t, q))
	})
}

// Of concurrent drains with any policies, each returns. Delayed items are
// dropped or run once, and one drain returns each dropped item.
func TestC42ManyDrains(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for round := range scaled(200, 20) {
			q := newQueue[int](shards)
			for item := range 50 {
				q.AddAfter(item, time.Duration(item)*time.Microsecond)
			}
			worked := make(chan []int, 1)
			go func() {
				var all []int
				for item := range q.Items(context.Background()) {
					all = append(all, item)
				}
				worked <- all
			}()
			drops := make([][]int, 4)
			together(4, func(i int) {
				policy := shardq.DelayedPolicy((i + round) % 3)
				var err error
				drops[i], err = q.Drain(context.Background(), shardq.DrainOptions{Delayed: policy})
				require.NoError(t, err)
			})
			all := append(<-worked, slices.Concat(drops...)...)
			slices.Sort(all)
			require.Equal(t, numbers(50), all)
		}
	})
}

// A drain that ends early, while items are added, delayed and done, lists none
// that is done and loses none.
func TestC42EndingEarlyLosesNothing(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		for range scaled(300, 30) {
			q := newQueue[int](shards)
			q.AddBatch(numbers(20), shardq.AddOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			var served []int
			together(3, func(i int) {
				switch i {
				case 0:
					for range 10 {
						item, err := q.GetContext(t.Context())
						require.NoError(t, err)
						served = append(served, item)
						q.Done(item)
					}
				case 1:
					cancel()
				case 2:
					_, err := q.Drain(ctx, shardq.DrainOptions{})
					require.True(t, err == nil || errors.Is(err, context.Canceled))
				}
			})
			served = append(served, finishAll(t, q)...)
			slices.Sort(served)
			require.Equal(t, numbers(20), served)
		}
	})
}

func TestC42UnknownPolicyPanics(t *testing.T) {
	q := newQueue[int](2)
	for fault, options := range map[string]shardq.DrainOptions{
		"shardq: DrainOptions.Delayed is 9: want DropDelayed, RunDelayed or AwaitDelayed":        {Delayed: 9},
		"shardq: DrainOptions.Retries is 9: want DefaultRetries, RefuseRetries or AcceptRetries": {Retries: 9},
	} {
		require.PanicsWithValue(t, fault, func() { _, _ = q.Drain(t.Context(), options) })
		require.False(t, q.ShuttingDown())
		requireCycle(t, q, 1)
		c := coalesce.MustNew(coalesce.Options[int, int]{Merge: func(a, b int) int { return a + b }})
		require.PanicsWithValue(t, fault, func() { _, _ = c.Drain(t.Context(), options) })
		require.NoError(t, c.Put(1, 1))
	}
}

// Waiters for capacity return as soon as a drain begins, also while the drain
// awaits delayed items.
func TestC42DrainEndsTheWaitForCapacity(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newBounded[string](shards, 1)
		q.AddAfter("delayed", time.Hour)
		var err error
		guest := returned(func() { err = q.AddContext(t.Context(), "guest", shardq.AddOptions{}) })
		requireStillFalse(t, guest, "there is no capacity")
		d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
		requireBecomesTrue(t, guest)
		require.ErrorIs(t, err, shardq.ErrShutDown)
		requireStillFalse(t, d.returned, "one is delayed")
		q.ShutDown()
		requireBecomesTrue(t, d.returned)
	})
}

// itemsOf returns the items of rows.
func itemsOf[T comparable](rows []stats.Item[T]) (items []T) {
	for _, row := range rows {
		items = append(items, row.Item)
	}
	return items
}

// A call that drops what a drain awaits ends the drain, which returns an error,
// also if nothing else is left. A later drain returns no error.
func TestC42DropOfAwaitedItemsIsReported(t *testing.T) {
	for name, end := range map[string]func(q *shardq.Queue[string]){
		"ShutDown":          func(q *shardq.Queue[string]) { q.ShutDown() },
		"ShutDownWithDrain": func(q *shardq.Queue[string]) { q.ShutDownWithDrain() },
	} {
		t.Run(name, func(t *testing.T) {
			forEachShardCountInBubble(t, func(t *testing.T, shards int) {
				q := newQueue[string](shards)
				q.AddAfter("a", time.Hour)
				d := drain(t.Context(), q, shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
				requireStillFalse(t, d.returned, "one is delayed")
				end(q)
				requireBecomesTrue(t, d.returned)
				require.ErrorIs(t, d.err, shardq.ErrShutDown)
				require.EqualValues(t, 1, q.Stats().Dropped)
				_, err := q.Drain(t.Context(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
				require.NoError(t, err)
			})
		})
	}
}
