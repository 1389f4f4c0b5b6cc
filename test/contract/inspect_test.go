package contract

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// newAged returns a queue that keeps ages.
func newAged[T comparable](shards int, line timeline) *shardq.Queue[T] {
	return shardq.MustNew(shardq.Options[T]{Shards: shards, Clock: line.clock, Ages: true})
}

// inEachState leaves items in each state, a second apart: p1 and p2 in
// processing, the latter dirty and delayed, r1 and r2 ready, w1 and w2 delayed,
// due in reverse order.
func inEachState(t *testing.T, q *shardq.Queue[string], line timeline) {
	t.Helper()
	for _, item := range []string{"p1", "p2"} {
		q.Add(item)
		takeItem(t, q, item)
		line.pass(time.Second)
	}
	q.Add("p2")
	q.AddAfter("p2", time.Hour)
	for _, item := range []string{"r1", "r2"} {
		q.Add(item)
		line.pass(time.Second)
	}
	q.AddAfter("w1", 2*time.Hour)
	q.AddRateLimited("w2")
	q.AddRateLimited("w2")
}

func TestC43SnapshotListsEachState(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newAged[string](shards, line)
		start := line.now()
		inEachState(t, q, line)
		s := q.Snapshot(10)
		require.Equal(t, line.now(), s.Time)
		require.Equal(t, q.Stats(), s.Stats)
		require.Equal(t, 6, s.Stats.Held)
		require.Equal(t, []string{"p1", "p2"}, itemsOf(s.Processing))
		require.Equal(t, []string{"r1", "r2"}, itemsOf(s.Ready))
		require.Equal(t, []string{"w2", "w1"}, itemsOf(s.Delayed))

		p1, p2 := s.Processing[0], s.Processing[1]
		require.Equal(t, stats.Processing, p1.State)
		require.Equal(t, [2]bool{false, true}, [2]bool{p1.Dirty, p2.Dirty})
		require.Equal(t, start, p1.Since)
		require.Equal(t, start.Add(time.Second), p2.Since)
		require.Zero(t, p1.Deadline)
		require.Equal(t, start.Add(2*time.Second+time.Hour), p2.Deadline)

		require.Equal(t, stats.Ready, s.Ready[1].State)
		require.Equal(t, start.Add(3*time.Second), s.Ready[1].Since)

		w2, w1 := s.Delayed[0], s.Delayed[1]
		require.Equal(t, stats.Delayed, w1.State)
		require.Equal(t, s.Time, w1.Since)
		require.Equal(t, [2]int{2, 0}, [2]int{w2.Attempts, w1.Attempts})
		require.Equal(t, line.now().Add(2*time.Hour), w1.Deadline)
		for _, row := range slices.Concat(s.Processing, s.Ready, s.Delayed) {
			require.Less(t, row.Shard, shards)
		}
	})
}

func TestC43AllListsEveryItem(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newAged[string](shards, line)
		inEachState(t, q, line)
		for state, want := range map[stats.State][]string{
			stats.Processing: {"p1", "p2"},
			stats.Ready:      {"r1", "r2"},
			stats.Delayed:    {"w1", "w2"},
		} {
			var got []string
			last := map[int]stats.Item[string]{}
			for row := range q.All(state) {
				require.Equal(t, state, row.State)
				before, ok := last[row.Shard]
				require.False(t, ok && (row.Since.Before(before.Since) || row.Deadline.Before(before.Deadline) && state == stats.Delayed))
				last[row.Shard] = row
				got = append(got, row.Item)
			}
			require.ElementsMatch(t, want, got)
			for row := range q.All(state) {
				require.Contains(t, want, row.Item)
				break
			}
		}
		require.Empty(t, slices.Collect(q.All(0)))
	})
}

// Without ages, rows have all details but Since.
func TestC43WithoutAges(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newQueueOn[string](shards, line)
		inEachState(t, q, line)
		s := q.Snapshot(10)
		require.ElementsMatch(t, []string{"p1", "p2"}, itemsOf(s.Processing))
		require.ElementsMatch(t, []string{"r1", "r2"}, itemsOf(s.Ready))
		require.Equal(t, []string{"w2", "w1"}, itemsOf(s.Delayed))
		for _, row := range slices.Concat(s.Processing, s.Ready, s.Delayed) {
			require.Zero(t, row.Since)
		}
	})
}

// Of many items the limit leaves the longest in processing, the longest ready,
// and the next to be ready.
func TestC43LimitLeavesTheFirst(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newAged[int](shards, line)
		for _, item := range numbers(100) {
			q.Add(item)
			takeItem(t, q, item)
			q.AddAfter(item+200, time.Hour)
			line.pass(time.Second)
		}
		for _, item := range numbers(100) {
			q.Add(item + 100)
			line.pass(time.Second)
		}
		for _, limit := range []int{1, 3, 99, 100, 1000} {
			s := q.Snapshot(limit)
			first := numbers(100)[:min(limit, 100)]
			require.Equal(t, first, itemsOf(s.Processing))
			for i := range first {
				require.Equal(t, first[i]+100, s.Ready[i].Item)
				require.Equal(t, first[i]+200, s.Delayed[i].Item)
			}
			require.Len(t, s.Ready, len(first))
			require.Len(t, s.Delayed, len(first))
		}
		for _, none := range []int{0, -1} {
			s := q.Snapshot(none)
			require.Empty(t, slices.Concat(s.Processing, s.Ready, s.Delayed))
			require.Equal(t, 300, s.Stats.Held)
		}
	})
}

// An item that is delayed while it is ready is listed as ready. It takes no
// place of items that are only delayed, even if it is due before them.
func TestC43DelayedBehindReadyOnes(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := newQueueOn[int](shards, fakeTimeline())
		for _, item := range numbers(200) {
			q.AddAfter(item, time.Minute)
			q.Add(item)
		}
		for _, item := range numbers(200) {
			q.AddAfter(item+200, time.Hour+time.Duration(item)*time.Second)
		}
		for _, limit := range []int{1, 3, 150} {
			got := itemsOf(q.Snapshot(limit).Delayed)
			require.Len(t, got, limit)
			for i, item := range got {
				require.Equal(t, i+200, item)
			}
		}
	})
}

// An item that becomes ready again counts from then, and so does each
// processing.
func TestC43SinceIsOfThePresentState(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q := newAged[string](shards, line)
		start := line.now()
		since := func(rows []stats.Item[string]) time.Duration {
			require.Len(t, rows, 1)
			return rows[0].Since.Sub(start)
		}
		q.AddAfter("a", time.Minute)
		line.pass(time.Second)
		q.AddAfter("a", time.Second)
		require.Zero(t, since(q.Snapshot(1).Delayed), "it has waited since its first AddAfter")
		line.pass(time.Second)
		line.pass(time.Second)
		require.Equal(t, 2*time.Second, since(q.Snapshot(1).Ready), "since its delay ended")
		line.pass(time.Second)
		takeItem(t, q, "a")
		require.Equal(t, 4*time.Second, since(q.Snapshot(1).Processing))
		line.pass(time.Second)
		q.Add("a")
		require.Equal(t, 4*time.Second, since(q.Snapshot(1).Processing), "dirty")
		line.pass(time.Second)
		q.Done("a")
		require.Equal(t, 6*time.Second, since(q.Snapshot(1).Ready))
		line.pass(time.Second)
		q.Add("a")
		require.Equal(t, 6*time.Second, since(q.Snapshot(1).Ready), "a deduplicated add")
		takeItem(t, q, "a")
		q.AddAfter("a", time.Minute)
		line.pass(time.Second)
		q.Done("a")
		require.Equal(t, 8*time.Second, since(q.Snapshot(1).Delayed), "since its Done")
		q.ShutDown()
	})
}

// The loop may call the queue, because no lock is held.
func TestC43TheLoopMayUseTheQueue(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		q := newAged[int](shards, bubbleTimeline())
		q.AddBatch(numbers(100), shardq.AddOptions{})
		seen := 0
		for row := range q.All(stats.Ready) {
			q.Cancel(row.Item)
			q.Add(row.Item + 1000)
			seen++
		}
		require.GreaterOrEqual(t, seen, 100)
		q.ShutDown()
	})
}

// An inspection beside busy workers lists the items that are in processing
// throughout, none that is not there, and none twice.
func TestC43InspectionsBesideWorkers(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		q := shardq.MustNew(shardq.Options[int]{Shards: shards, Ages: true})
		const held, items = 16, 64
		q.AddBatch(numbers(held), shardq.AddOptions{})
		takeAll(t, q)
		q.AddBatch(numbers(items)[held:], shardq.AddOptions{})
		workers := returned(func() {
			together(4, func(int) {
				for item := range q.Items(t.Context()) {
					q.Add(item)
					runtime.Gosched() // or an inspection would take many time slices
				}
			})
		})
		for range scaled(2000, 200) {
			seen := map[int]bool{}
			for row := range q.All(stats.Processing) {
				require.False(t, seen[row.Item], "shown twice")
				require.Less(t, row.Item, items, "it was never added")
				require.False(t, row.Since.IsZero())
				seen[row.Item] = true
			}
			for item := range held {
				require.True(t, seen[item], "it is in processing, and not shown")
			}
			require.Equal(t, held, len(slices.DeleteFunc(itemsOf(q.Snapshot(items).Processing), func(i int) bool { return i >= held })))
			runtime.Gosched()
		}
		doneBatch(q, numbers(held))
		q.ShutDown()
		for !workers() {
			runtime.Gosched()
		}
	})
}

// stuckQueue returns a queue whose OnStuck notes the items and the times.
func stuckQueue(shards int, line timeline, after time.Duration) (q *shardq.Queue[string], reported func() []string) {
	names := make(chan string, 1000)
	start := line.now()
	q = shardq.MustNew(shardq.Options[string]{
		Shards: shards, Clock: line.clock, StuckAfter: after,
		OnStuck: func(i stats.Item[string]) {
			names <- i.Item + " since " + i.Since.Sub(start).String()
		},
	})
	return q, func() (all []string) {
		for len(names) > 0 {
			all = append(all, <-names)
		}
		return all
	}
}

func TestC44StuckItemIsReportedOnce(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q, reported := stuckQueue(shards, line, 10*time.Second)
		q.Add("a")
		line.pass(time.Minute)
		require.Empty(t, reported(), "ready is not stuck")
		takeItem(t, q, "a")
		line.pass(10 * time.Second)
		require.Empty(t, reported(), "too soon")
		line.pass(2 * time.Millisecond)
		require.Equal(t, []string{"a since 1m0s"}, reported())
		line.pass(time.Hour)
		require.Empty(t, reported(), "once")

		q.Add("a")
		q.Done("a")
		takeItem(t, q, "a")
		line.pass(11 * time.Second)
		require.Equal(t, []string{"a since 1h1m10.002s"}, reported(), "another processing")
		q.Done("a")
		line.pass(time.Hour)
		require.Empty(t, reported())
		requireCounts(t, q, 0, 0, 0)
	})
}

// An item with the stamp of a tick may have been handed out at its end.
func TestC44NeverSooner(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		line, reported := fakeTimeline(), 0
		q := shardq.MustNew(shardq.Options[string]{
			Shards: shards, Clock: line.clock, Tick: time.Second, StuckAfter: 10 * time.Second,
			OnStuck: func(stats.Item[string]) { reported++ },
		})
		line.pass(900 * time.Millisecond)
		q.Add("a")
		takeItem(t, q, "a")
		line.pass(10*time.Second - 1)
		require.Zero(t, reported, "too soon")
		line.pass(time.Second)
		require.Equal(t, 1, reported)
	})
}

// Each is reported in its time, whatever is added and done between them.
func TestC44EachInItsTime(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q, reported := stuckQueue(shards, line, 10*time.Second)
		for _, item := range []string{"a", "b", "c", "d"} {
			q.Add(item)
			takeItem(t, q, item)
			line.pass(2 * time.Second)
		}
		q.Done("b")
		q.Add("quick")
		takeItem(t, q, "quick")
		q.Done("quick")
		line.pass(2*time.Second + time.Millisecond)
		require.Equal(t, []string{"a since 0s"}, reported())
		line.pass(3 * time.Second)
		require.Empty(t, reported(), "b was Done")
		q.Done("a") // reported, and the first of the list
		line.pass(time.Second)
		require.Equal(t, []string{"c since 4s"}, reported())
		line.pass(time.Minute)
		require.Equal(t, []string{"d since 6s"}, reported())
	})
}

func TestC44ManyAtOnce(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q, reported := stuckQueue(shards, line, time.Second)
		var want []string
		for _, item := range numbers(500) {
			name := string(rune('A' + item))
			want = append(want, name+" since 0s")
			q.Add(name)
		}
		items := takeAll(t, q)
		line.pass(time.Minute)
		require.ElementsMatch(t, want, reported())
		doneBatch(q, items)
	})
}

// A batch is watched as well as an item, also if the consumer was parked.
func TestC44BatchesOfParkedGetsAreWatched(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		line := bubbleTimeline()
		q, reported := stuckQueue(shards, line, time.Second)
		go func() { _, _ = getBatch(q, t.Context(), make([]string, 3)) }()
		go func() { _, _ = q.Get() }()
		synctest.Wait()
		q.Add("a")
		synctest.Wait()
		q.Add("b")
		line.pass(2 * time.Second)
		require.ElementsMatch(t, []string{"a since 0s", "b since 0s"}, reported())
		q.ShutDown()
	})
}

// The same holds if no consumer was parked, and nothing else is handed out.
func TestC44ReadyBatchIsWatched(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		q, reported := stuckQueue(shards, line, time.Second)
		q.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
		n, err := getBatch(q, t.Context(), make([]string, 3))
		require.NoError(t, err)
		require.Equal(t, 2, n)
		line.pass(2 * time.Second)
		require.ElementsMatch(t, []string{"a since 0s", "b since 0s"}, reported())
		q.ShutDown()
	})
}

// The hook may call the queue, and its panic affects only its caller.
func TestC44HookMayUseTheQueue(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		line := fakeTimeline()
		var q *shardq.Queue[string]
		calls := 0
		q = shardq.MustNew(shardq.Options[string]{
			Shards: shards, Clock: line.clock, StuckAfter: time.Second,
			OnStuck: func(i stats.Item[string]) {
				calls++
				if calls == 1 {
					panic("hook")
				}
				q.AddAfter("later", time.Second)
				q.Snapshot(3)
				q.Done(i.Item)
			},
		})
		q.Add("a")
		q.Add("b")
		takeAll(t, q)
		require.PanicsWithValue(t, "hook", func() { line.pass(time.Minute) })
		line.pass(time.Minute)
		q.AddAfter("c", time.Second)
		line.pass(time.Minute)
		line.pass(time.Minute) // so that "later" is due
		require.Equal(t, 2, calls, "the next call of the timer reports the other")
		require.Equal(t, 1, q.Stats().Processing)
		require.ElementsMatch(t, []string{"later", "c"}, finishAll(t, q))
	})
}

// With nothing in processing, no timer is set.
func TestC44IdleMeansIdle(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[string]{
			Shards: shards, Clock: fake, StuckAfter: time.Hour, OnStuck: func(stats.Item[string]) {},
		})
		require.Zero(t, fake.Timers())
		q.Add("a")
		takeItem(t, q, "a")
		q.Done("a")
		for range 3 {
			fake.Step(2 * time.Hour)
		}
		require.Zero(t, fake.Timers())
		q.Add("a")
		takeItem(t, q, "a")
		for range 3 {
			fake.Step(2 * time.Hour)
		}
		require.Zero(t, fake.Timers(), "it was reported")
		q.ShutDown()
		require.Zero(t, fake.Timers())
	})
}

func TestC44NothingIsReportedAfterShutdown(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		line := fakeTimeline()
		q, reported := stuckQueue(shards, line, time.Second)
		q.Add("a")
		takeItem(t, q, "a")
		q.Add("b")
		q.ShutDown()
		takeItem(t, q, "b")
		line.pass(time.Hour)
		require.Empty(t, reported())
	})
}

// ShutDown does not wait for a running call of the hook, which may be its own
// caller. That call is the last: the other items that were found are not
// reported.
func TestC44ShutDownBesideACall(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		calls, release := 0, make(chan struct{})
		q := shardq.MustNew(shardq.Options[int]{
			Shards: shards, StuckAfter: time.Second,
			OnStuck: func(stats.Item[int]) { calls++; <-release },
		})
		q.AddBatch(numbers(200), shardq.AddOptions{})
		items := takeAll(t, q)
		bubbleTimeline().pass(2 * time.Second)
		require.Equal(t, 1, calls)

		requireBecomesTrue(t, returned(q.ShutDown))
		close(release)
		synctest.Wait()
		require.Equal(t, 1, calls)
		doneBatch(q, items)
		requireCounts(t, q, 0, 0, 0)
	})
}

// A lateClock is set forward past the deadline of a timer while the timer is
// being set, so that the timer's function is called before AfterFunc or Reset
// returns.
type lateClock struct {
	*clock.Fake
	late time.Duration // by how much, once
}

func (c *lateClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	timer := &lateTimer{c, c.Fake.AfterFunc(d, f)}
	timer.arrive()
	return timer
}

type lateTimer struct {
	clock *lateClock
	clock.Timer
}

func (t *lateTimer) Reset(d time.Duration) bool {
	defer t.arrive()
	return t.Timer.Reset(d)
}

func (t *lateTimer) arrive() {
	late := t.clock.late
	t.clock.late = 0
	t.clock.Step(late)
}

// The clock calls the timer's function from within Reset, so the call that sets
// the timer is below it on the stack. The hook calls ShutDown, which waits for
// the call that sets the timer.
func TestC44C27ClockThatCallsAtOnceAndHookThatShutsDown(t *testing.T) {
	forEachShardCountInBubble(t, func(t *testing.T, shards int) {
		var q *shardq.Queue[string]
		var reported []string
		late := &lateClock{Fake: newFake()}
		q = shardq.MustNew(shardq.Options[string]{
			Shards: shards, Clock: late, StuckAfter: time.Second,
			OnStuck: func(i stats.Item[string]) {
				reported = append(reported, i.Item)
				q.ShutDown()
			},
		})
		q.Add("stuck")
		takeItem(t, q, "stuck")
		q.AddAfter("delayed", time.Hour)
		late.late = 2 * time.Hour
		requireBecomesTrue(t, returned(func() { late.Step(time.Minute) }))
		require.Equal(t, []string{"stuck"}, reported)
		require.True(t, q.ShuttingDown())
		require.Zero(t, late.Timers())
	})
}

// A stoppedClock is a clock with which one caller is stopped after it has read
// the time.
type stoppedClock struct {
	*clock.Fake
	armed        atomic.Bool
	read, resume chan struct{}
}

func (c *stoppedClock) Now() time.Time {
	now := c.Fake.Now()
	if c.armed.CompareAndSwap(true, false) {
		close(c.read)
		<-c.resume
	}
	return now
}

// TestC43MomentsDoNotGoBack checks that an item that becomes ready later is not
// shown as older, also if its add was stopped after it had read the clock.
func TestC43MomentsDoNotGoBack(t *testing.T) {
	for _, metrics := range []bool{false, true} {
		c := &stoppedClock{Fake: newFake(), read: make(chan struct{}), resume: make(chan struct{})}
		q := shardq.MustNew(shardq.Options[string]{Clock: c, Shards: 1, Ages: true, Metrics: metrics})
		var adding sync.WaitGroup
		c.armed.Store(true)
		adding.Go(func() { q.Add("stopped") })
		<-c.read
		c.Step(time.Second)
		q.Add("first")
		close(c.resume)
		adding.Wait()
		rows := slices.Collect(q.All(stats.Ready))
		require.Len(t, rows, 2)
		require.Equal(t, "first", rows[0].Item)
		require.False(t, rows[1].Since.Before(rows[0].Since), "%v before %v", rows[1].Since, rows[0].Since)
		q.ShutDown()
	}
}
