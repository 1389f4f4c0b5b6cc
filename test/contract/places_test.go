package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A line is the model of a queue with DropDelayIfReady, KeepPlaces and
// CancelDelayOnAdd: each item has at most one run to come, with one priority,
// one place and one deadline, whatever the calls that asked for it.
type line struct {
	now      time.Duration
	last     int
	runs     map[int]*run
	inFlight map[int]bool
}

type run struct {
	place, priority int
	deadline        time.Duration // 0 if the delay is over
}

func newLine() *line { return &line{runs: map[int]*run{}, inFlight: map[int]bool{}} }

func (l *line) place() int { l.last++; return l.last }

// add is AddWith. A delay of 0 is none.
func (l *line) add(item, priority int, delay time.Duration) {
	deadline := time.Duration(0)
	if delay > 0 {
		deadline = l.now + delay
	}
	r, held := l.runs[item]
	if !held {
		l.runs[item] = &run{l.place(), priority, deadline}
		return
	}
	if priority > r.priority {
		r.priority, r.place = priority, l.place()
	}
	r.deadline = min(r.deadline, deadline)
}

func (l *line) step(d time.Duration) {
	l.now += d
	var due []*run
	for _, r := range l.runs {
		if r.deadline > 0 && r.deadline <= l.now {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *run) int { return cmp.Compare(a.deadline, b.deadline) })
	for _, r := range due {
		r.deadline, r.place = 0, l.place()
	}
}

// next returns the items that Gets return from now on, in their order.
func (l *line) next() []int {
	ready := slices.DeleteFunc(slices.Collect(maps.Keys(l.runs)), func(item int) bool {
		return l.runs[item].deadline > 0 || l.inFlight[item]
	})
	slices.SortFunc(ready, func(a, b int) int {
		a1, b1 := l.runs[a], l.runs[b]
		return cmp.Or(cmp.Compare(b1.priority, a1.priority), cmp.Compare(a1.place, b1.place))
	})
	return ready
}

// linePlayer plays the same calls on a queue and on the model.
type linePlayer struct {
	*rapid.T
	fake   *clock.Fake
	queue  *shardq.Queue[int]
	line   *line
	unique int
	// pending counts the items in line by priority, as the calls of OnAdd and
	// the priorities of Gets tell.
	pending map[int]int
}

func (p *linePlayer) onAdd(a stats.Add[int]) {
	if a.Canceled {
		p.pending[a.Priority]--
		return
	}
	if p.pending[a.Priority]++; a.Raised {
		p.pending[a.Before]--
	}
}

func (p *linePlayer) add(*rapid.T) {
	item := rapid.IntRange(0, 7).Draw(p.T, "item")
	priority := rapid.IntRange(-1, 2).Draw(p.T, "priority")
	delay := time.Duration(0)
	if rapid.Bool().Draw(p.T, "delayed") {
		// No two deadlines are equal: among such, the order is not defined.
		p.unique++
		delay = time.Duration(rapid.IntRange(1, 5).Draw(p.T, "delay"))*time.Second + time.Duration(p.unique)*time.Millisecond
	}
	p.queue.AddWith(item, shardq.AddOptions{Priority: priority, After: delay})
	p.line.add(item, priority, delay)
}

func (p *linePlayer) get(*rapid.T) {
	next := p.line.next()
	if len(next) == 0 {
		p.Skip("nothing is ready")
	}
	item, priority, shutdown := p.queue.GetWithPriority()
	require.False(p, shutdown)
	require.Equal(p, next[0], item)
	require.Equal(p, p.line.runs[item].priority, priority)
	p.pending[priority]--
	delete(p.line.runs, item)
	p.line.inFlight[item] = true
}

func (p *linePlayer) done(*rapid.T) {
	inFlight := slices.Sorted(maps.Keys(p.line.inFlight))
	if len(inFlight) == 0 {
		p.Skip("nothing is in flight")
	}
	item := rapid.SampledFrom(inFlight).Draw(p.T, "item")
	p.queue.Done(item)
	delete(p.line.inFlight, item)
}

func (p *linePlayer) cancel(*rapid.T) {
	item := rapid.IntRange(0, 7).Draw(p.T, "item")
	_, held := p.line.runs[item]
	was := p.queue.Cancel(item)
	require.Equal(p, held, was.Any())
	delete(p.line.runs, item)
}

func (p *linePlayer) step(*rapid.T) {
	d := time.Duration(rapid.IntRange(1, 3000).Draw(p.T, "step")) * time.Millisecond
	p.fake.Step(d)
	p.line.step(d)
}

// check compares the queue with the model.
func (p *linePlayer) check(*rapid.T) {
	next := p.line.next()
	require.Equal(p, len(next), p.queue.Len())
	var ready []int
	for row := range p.queue.All(stats.Ready) {
		ready = append(ready, row.Item)
	}
	require.True(p, slices.Equal(next, ready), "in line are %v, want %v", ready, next)
	pending := map[int]int{}
	for item, r := range p.line.runs {
		if r.deadline == 0 {
			pending[r.priority]++
		}
		row, held := p.queue.Lookup(item)
		require.True(p, held, "item %d", item)
		require.Equal(p, r.deadline > 0, !row.Deadline.IsZero(), "item %d: %+v", item, row)
		require.Equal(p, p.line.inFlight[item], row.State == stats.Processing, "item %d: %+v", item, row)
		require.Equal(p, r.deadline == 0 && p.line.inFlight[item], row.Dirty, "item %d: %+v", item, row)
	}
	for priority := -1; priority <= 2; priority++ {
		require.Equal(p, pending[priority], p.pending[priority], "in line with priority %d", priority)
	}
}

// TestC61PlacesAgainstModel compares the three options together with the model
// of one run to come.
func TestC61PlacesAgainstModel(t *testing.T) {
	for _, grouped := range []bool{false, true} {
		t.Run(fmt.Sprintf("groups=%v", grouped), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := &linePlayer{T: t, fake: clock.NewFake(time.Unix(1, 0)), line: newLine(), pending: map[int]int{}}
				options := shardq.Options[int]{
					Shards: 1, Clock: p.fake, CancelDelayOnAdd: true, DropDelayIfReady: true, KeepPlaces: true, OnAdd: p.onAdd,
				}
				if grouped {
					options.Group = func(int) string { return "all" }
				}
				p.queue = shardq.MustNew(options)
				defer p.queue.ShutDown()
				t.Repeat(map[string]func(*rapid.T){
					"add": p.add, "get": p.get, "done": p.done, "cancel": p.cancel, "step": p.step, "": p.check,
				})
			})
		})
	}
}

// TestC61DelayOfAReadyItem: the run to come serves the call, at its priority.
func TestC61DelayOfAReadyItem(t *testing.T) {
	for _, policy := range []shardq.DelayPolicy{shardq.KeepEarliest, shardq.KeepLatest, shardq.KeepNew, shardq.KeepOld} {
		q := shardq.MustNew(shardq.Options[string]{Shards: 1, DropDelayIfReady: true})
		hour := func(priority int) shardq.AddOptions {
			return shardq.AddOptions{After: time.Hour, Priority: priority, Policy: policy}
		}
		q.Add("ready")
		q.Add("other")
		q.AddWith("ready", hour(1))
		require.Zero(t, q.Stats().Delayed)
		item, priority, _ := q.GetWithPriority()
		require.Equal(t, "ready", item)
		require.Equal(t, 1, priority)
		q.AddWith("ready", hour(0)) // in processing, and not dirty: it is delayed
		require.Equal(t, 1, q.Stats().Delayed)
		q.Cancel("ready")
		q.Add("ready")
		q.AddWith("ready", hour(2)) // dirty
		require.Zero(t, q.Stats().Delayed)
		q.Done("ready")
		item, priority, _ = q.GetWithPriority()
		require.Equal(t, "ready", item)
		require.Equal(t, 2, priority)
		require.EqualValues(t, 2, q.Stats().Deduplicated)
		q.ShutDown()
	}
}

// TestC62LateItems: many items that become ready behind their places come out
// in the order of their places, also after some were canceled or raised.
func TestC62LateItems(t *testing.T) {
	const items = 500
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, KeepPlaces: true, CancelDelayOnAdd: true})
	defer q.ShutDown()
	for item := range items {
		if item%3 == 0 {
			q.Add(item)
		} else {
			q.AddAfter(item, time.Hour)
		}
	}
	var want []int
	for i := range items {
		if item := i * 7 % items; item%3 == 1 { // late, and in a mixed order
			q.Add(item)
		}
		if i%3 != 2 {
			want = append(want, i)
		}
	}
	canceled, raised := 4, 100
	q.Cancel(canceled)
	q.AddWith(raised, withPriority(1))
	want = slices.DeleteFunc(want, func(item int) bool { return item == canceled || item == raised })
	require.Equal(t, append([]int{raised}, want...), handedOut(q))
	require.Equal(t, items/3, q.Stats().Delayed, "those that nothing made ready")
}

// TestC62RaisedItem: an item whose priority is raised has the last place, ready
// or dirty.
func TestC62RaisedItem(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, KeepPlaces: true})
	defer q.ShutDown()
	q.Add("processing")
	processing, _ := q.Get()
	q.Add(processing)
	q.Add("ready")
	q.AddWith("first", withPriority(1))
	q.AddWith("ready", withPriority(1))
	q.AddWith(processing, withPriority(1))
	q.Done(processing)
	require.Equal(t, []string{"first", "ready", "processing"}, handedOut(q))
}

// TestC62NothingIsAllocated checks that late items allocate nothing in steady
// state.
func TestC62NothingIsAllocated(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, KeepPlaces: true})
	defer q.ShutDown()
	cycle := func() {
		for item := range 8 {
			q.Add(item)
		}
		for range 8 {
			item, _ := q.Get()
			q.Add(item)
		}
		for item := range 8 {
			q.Add(10 + item)
		}
		for item := range 8 {
			q.Done(7 - item)
		}
		for range 16 {
			item, _ := q.Get()
			q.Done(item)
		}
	}
	cycle()
	require.Zero(t, testing.AllocsPerRun(100, cycle))
}

func TestC63ReadyItemsAreDiscarded(t *testing.T) {
	for _, options := range []shardq.Options[int]{
		{Shards: 1},
		{Shards: 8},
		{Shards: 8, Group: func(item int) string { return fmt.Sprint(item % 5) }, GroupLimit: 1},
		{Shards: 1, KeepPlaces: true},
	} {
		options.DiscardOnShutDown = true
		q := shardq.MustNew(options)
		for item := range 1000 {
			q.AddWith(item, withPriority(item%2))
		}
		item, _ := q.Get()
		q.ShutDown()
		require.Zero(t, q.Len())
		_, shutdown := q.Get()
		require.True(t, shutdown)
		q.Done(item)
		s := q.Stats()
		require.EqualValues(t, 999, s.Dropped)
		require.Zero(t, s.Held)
		q.ShutDownWithDrain()
	}
}

func TestC63DirtyItemsAreDiscarded(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, DiscardOnShutDown: true})
	q.Add("a")
	claim, ok := q.TryClaim()
	require.True(t, ok)
	q.Add("a")
	q.ShutDown()
	require.NoError(t, claim.Done())
	_, shutdown := q.Get()
	require.True(t, shutdown)
	require.EqualValues(t, 1, q.Stats().Dropped)
	require.Zero(t, q.Stats().Held)
}

func TestC63DrainIsNoShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := shardq.MustNew(shardq.Options[string]{Shards: 1, DiscardOnShutDown: true})
		q.Add("a")
		q.Add("b")
		drained := make(chan struct{})
		go func() { q.ShutDownWithDrain(); close(drained) }()
		synctest.Wait()
		item, shutdown := q.Get()
		require.False(t, shutdown)
		require.Equal(t, "a", item)
		q.Done(item)
		synctest.Wait()
		require.Equal(t, 1, q.Len(), "the drain waits for b")
		q.ShutDown()
		<-drained
		_, shutdown = q.Get()
		require.True(t, shutdown)
	})
}

func TestC64EachAddIsReported(t *testing.T) {
	var got []stats.Add[string]
	fake := clock.NewFake(time.Unix(1, 0))
	q := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: fake, OnAdd: func(a stats.Add[string]) { got = append(got, a) },
	})
	expect := func(want ...stats.Add[string]) {
		t.Helper()
		require.Equal(t, want, got)
		got = nil
	}
	q.Add("a")
	expect(stats.Add[string]{Item: "a"})
	q.Add("a")
	expect()
	q.AddWith("a", withPriority(3))
	expect(stats.Add[string]{Item: "a", Priority: 3, Raised: true})
	q.AddBatch([]string{"b", "a", "c"})
	expect(stats.Add[string]{Item: "b"}, stats.Add[string]{Item: "c"})
	q.AddWith("d", shardq.AddOptions{After: time.Second, Priority: 1})
	expect()
	fake.Step(time.Second)
	expect(stats.Add[string]{Item: "d", Priority: 1, Expired: true})
	item, _ := q.Get()
	require.Equal(t, "a", item)
	q.Add("a")
	expect(stats.Add[string]{Item: "a"})
	q.AddWith("a", withPriority(2))
	expect(stats.Add[string]{Item: "a", Priority: 2, Raised: true})
	q.Done("a")
	expect()
	require.NoError(t, q.TryAdd("e"))
	expect(stats.Add[string]{Item: "e"})
	claim, _ := q.TryClaim()
	require.NoError(t, claim.Release())
	expect(stats.Add[string]{Item: "a", Priority: 2})
	q.AddWith("a", withPriority(4))
	expect(stats.Add[string]{Item: "a", Priority: 4, Raised: true, Before: 2})
	q.Cancel("a")
	expect(stats.Add[string]{Item: "a", Priority: 4, Canceled: true})
	q.Cancel("a")
	expect()
	claim, _ = q.TryClaim()
	require.Equal(t, "d", claim.Item)
	q.AddWith("d", withPriority(5))
	q.Cancel("d")
	expect(stats.Add[string]{Item: "d", Priority: 5}, stats.Add[string]{Item: "d", Priority: 5, Canceled: true})
	q.ShutDown()
	q.Add("f")
	expect()
}

// TestC64DiscardsAreReported: OnAdd learns of what a shutdown takes out of the
// line, ready or dirty.
func TestC64DiscardsAreReported(t *testing.T) {
	inLine := map[int]bool{}
	q := shardq.MustNew(shardq.Options[int]{Shards: 1, DiscardOnShutDown: true, OnAdd: func(a stats.Add[int]) {
		if inLine[a.Item] == a.Canceled {
			inLine[a.Item] = !a.Canceled
		}
	}})
	for item := range 1000 {
		q.Add(item)
	}
	dirty, _ := q.Get()
	q.Add(dirty)
	require.Len(t, inLine, 1000)
	q.ShutDown()
	require.True(t, inLine[dirty])
	q.Done(dirty)
	for item, is := range inLine {
		require.False(t, is, item)
	}
}

func TestC64HookMayUseTheQueue(t *testing.T) {
	var q *shardq.Queue[int]
	q = shardq.MustNew(shardq.Options[int]{Shards: 1, OnAdd: func(a stats.Add[int]) {
		if a.Item < 5 {
			q.Add(a.Item + 1)
		}
	}})
	defer q.ShutDown()
	q.Add(0)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, handedOut(q))
}

func TestC65Lookup(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Metrics: true})
	defer q.ShutDown()
	_, held := q.Lookup("a")
	require.False(t, held)
	q.AddWith("a", withPriority(2))
	row, held := q.Lookup("a")
	require.True(t, held)
	require.Equal(t, stats.Ready, row.State)
	require.Equal(t, 2, row.Priority)
	require.False(t, row.Since.IsZero())
	q.AddRateLimited("b")
	row, held = q.Lookup("b")
	require.True(t, held)
	require.Equal(t, stats.Delayed, row.State)
	require.Equal(t, 1, row.Attempts)
}
