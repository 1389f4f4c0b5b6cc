package shard

import (
	"cmp"
	"context"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A model is what the queue has to do, in the style of client-go: a set of
// dirty items, a set of items in processing, the queue itself, and the
// deadlines of delayed items. It has one queue for each shard, and no lock,
// hash, link or wheel.
type model struct {
	cancelDelayOnAdd bool
	shardOf          func(item int) int
	queues           [][]int
	// dirty has the items that need a run: those in a queue, and those in
	// processing that were added again.
	dirty      map[int]bool
	processing map[int]bool
	waiting    map[int]uint64 // ticks
	// run and wait have the priorities of dirty and of delayed items.
	run, wait map[int]int
	limits    map[int]uint64 // of delayed items, in ticks
	closed    bool
	stats     Stats
}

func newModel(config Config[int], shardOf func(item int) int) *model {
	return &model{
		cancelDelayOnAdd: config.Rules.CancelDelayOnAdd,
		shardOf:          shardOf,
		queues:           make([][]int, config.Shards),
		dirty:            map[int]bool{},
		processing:       map[int]bool{},
		waiting:          map[int]uint64{},
		run:              map[int]int{},
		wait:             map[int]int{},
		limits:           map[int]uint64{},
		stats:            Stats{Shards: config.Shards},
	}
}

func (m *model) add(item int) { m.addAt(item, 0, m.cancelDelayOnAdd) }

// addAt also serves the delayed add, if it cancels the delay.
func (m *model) addAt(item, priority int, cancelDelay bool) {
	if m.closed {
		m.stats.Dropped++
		return
	}
	if wait, waits := m.wait[item]; waits && cancelDelay {
		priority = max(priority, wait)
		m.endDelay(item)
	}
	m.demand(item, priority)
}

// fire ends the delay of an item that was removed from waiting.
func (m *model) fire(item int) {
	priority := m.wait[item]
	delete(m.wait, item)
	m.demand(item, priority)
}

func (m *model) endDelay(item int) {
	delete(m.waiting, item)
	delete(m.wait, item)
	delete(m.limits, item)
}

// addWith takes the deadline and the limit in ticks. A deadline of now is none.
func (m *model) addWith(item int, policy DelayPolicy, now, deadline, limit uint64, priority int) {
	filed, waits := m.waiting[item]
	switch {
	case m.closed:
		m.stats.Dropped++
		return
	case deadline == now && policy == KeepEarliest:
		m.addAt(item, priority, m.cancelDelayOnAdd)
		return
	case deadline == now && !(waits && (policy == KeepLatest || policy == KeepOld)):
		m.addAt(item, priority, true)
		return
	case waits:
		deadline, priority = policy.choose(filed, deadline), max(priority, m.wait[item])
	}
	m.wait[item] = priority
	if bound, ok := m.limits[item]; !ok || limit < bound {
		m.limits[item] = limit
	}
	m.waiting[item] = min(deadline, m.limits[item])
}

// cancel returns what there was.
func (m *model) cancel(item int) (was stats.Canceled) {
	queue := &m.queues[m.shardOf(item)]
	if place := slices.Index(*queue, item); place >= 0 {
		*queue = slices.Delete(*queue, place, place+1)
		was.Ready = true
	}
	was.Dirty = m.dirty[item] && m.processing[item]
	_, was.Delayed = m.waiting[item]
	delete(m.dirty, item)
	delete(m.run, item)
	m.endDelay(item)
	if was.Any() {
		m.stats.Canceled++
	}
	return was
}

// demand is what Add and the end of a delay have in common.
func (m *model) demand(item, priority int) {
	if m.dirty[item] {
		m.stats.Deduplicated++
		if priority > m.run[item] {
			m.raise(item, priority)
		}
		return
	}
	m.stats.Added++
	m.dirty[item] = true
	m.run[item] = priority
	if !m.processing[item] {
		m.enqueue(item)
	}
}

// raise moves a ready item to the tail of its new level.
func (m *model) raise(item, priority int) {
	m.run[item] = priority
	queue := &m.queues[m.shardOf(item)]
	if place := slices.Index(*queue, item); place >= 0 {
		*queue = append(slices.Delete(*queue, place, place+1), item)
	}
}

// order returns the ready items of a shard in the order of hand-out.
func (m *model) order(number int) []int {
	order := slices.Clone(m.queues[number])
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.run[b], m.run[a]) })
	return order
}

// highest returns the class of the highest priority that is ready.
func (m *model) highest() int16 {
	highest := int16(math.MinInt16)
	for _, queue := range m.queues {
		for _, item := range queue {
			highest = max(highest, classOf(m.run[item]))
		}
	}
	return highest
}

func (m *model) enqueue(item int) {
	number := m.shardOf(item)
	m.queues[number] = append(m.queues[number], item)
}

// addAfter takes the deadline in ticks.
func (m *model) addAfter(item int, deadline uint64) {
	if m.closed {
		m.stats.Dropped++
		return
	}
	filed, waits := m.waiting[item]
	if !waits || deadline < filed {
		m.waiting[item] = deadline
	}
	if !waits {
		m.wait[item] = 0
	}
	m.wait[item] = max(0, m.wait[item])
}

// take takes item, if it is the first of its shard and of the highest class of
// all. It reports whether it did.
func (m *model) take(item int) bool {
	number := m.shardOf(item)
	if order := m.order(number); len(order) == 0 || order[0] != item || classOf(m.run[item]) != m.highest() {
		return false
	}
	queue := &m.queues[number]
	place := slices.Index(*queue, item)
	*queue = slices.Delete(*queue, place, place+1)
	delete(m.dirty, item)
	delete(m.run, item)
	m.processing[item] = true
	return true
}

// done reports whether item was in processing.
func (m *model) done(item int) bool {
	if !m.processing[item] {
		m.stats.Misused++
		return false
	}
	delete(m.processing, item)
	if m.dirty[item] {
		m.enqueue(item)
	}
	return true
}

// due removes and returns the items whose deadlines have passed: those of one
// deadline together, in the order of the deadlines.
func (m *model) due(now uint64) (groups [][]int) {
	byDeadline := map[uint64][]int{}
	for item, deadline := range m.waiting {
		if deadline <= now {
			byDeadline[deadline] = append(byDeadline[deadline], item)
			delete(m.waiting, item)
			delete(m.limits, item)
		}
	}
	for _, deadline := range slices.Sorted(maps.Keys(byDeadline)) {
		groups = append(groups, byDeadline[deadline])
	}
	return groups
}

func (m *model) shutDown() {
	if m.closed {
		return
	}
	m.closed = true
	m.stats.Dropped += uint64(len(m.waiting))
	clear(m.waiting)
	clear(m.wait)
}

func (m *model) ready() (n int) {
	for _, queue := range m.queues {
		n += len(queue)
	}
	return n
}

// quiescent is what a drain waits for.
func (m *model) quiescent() bool { return m.closed && m.ready() == 0 && len(m.processing) == 0 }

// held counts each item once, whatever its states.
func (m *model) held() int {
	held := maps.Clone(m.processing)
	for _, queue := range m.queues {
		for _, item := range queue {
			held[item] = true
		}
	}
	for item := range m.waiting {
		held[item] = true
	}
	return len(held)
}

func (m *model) statsNow() Stats {
	m.stats.Ready, m.stats.Delayed, m.stats.Processing = m.ready(), len(m.waiting), len(m.processing)
	m.stats.Held = m.held()
	return m.stats
}

// checkedSet is a Set beside a model of it. Each operation runs on both, and
// the test fails at the first difference.
type checkedSet struct {
	failer
	set   *Set[int]
	clock *clock.Fake
	model *model
	// elapsed is how far the clock is from start.
	elapsed time.Duration
	// base is the place of start on the axis of nanoseconds that ticks divide.
	base uint64
	tick time.Duration
	// levels reports that items have priorities.
	levels bool
	// misused counts the calls of the misuse hook.
	misused uint64
}

func newCheckedSet(t failer, config Config[int]) *checkedSet {
	c := &checkedSet{failer: t, clock: clock.NewFake(start)}
	config.Clock = c.clock
	config.OnMisuse = func(kind Misuse, _ int) {
		if kind != stats.DoneWithoutGet {
			c.Fatalf("unexpected misuse %v", kind)
		}
		c.misused++
	}
	c.set = newTestSet(t, config)
	c.base, c.tick = c.set.time.nanoseconds(), time.Duration(c.set.time.tick)
	config.Shards = len(c.set.shards)
	c.model = newModel(config, func(item int) int {
		return int(c.set.shardOf(item).number)
	})
	return c
}

func (c *checkedSet) add(item int) {
	c.set.Add(item)
	c.model.add(item)
}

func (c *checkedSet) addAfter(item int, d time.Duration) {
	c.set.AddAfter(item, d)
	if d <= 0 {
		c.model.add(item)
		return
	}
	end := c.nanoseconds() + uint64(d)
	deadline := (end-1)/uint64(c.tick) + 1
	c.model.addAfter(item, deadline)
}

// addWith delays the item by a policy.
func (c *checkedSet) addWith(item int, d Delay) {
	c.set.AddWith(item, d)
	now := c.nanoseconds() / uint64(c.tick)
	deadline, limit := now, uint64(never)
	if d.Duration > 0 {
		deadline = (c.nanoseconds()+uint64(d.Duration)-1)/uint64(c.tick) + 1
	}
	if d.MaxWait > 0 {
		limit = (c.nanoseconds()+uint64(d.MaxWait)-1)/uint64(c.tick) + 1
	}
	c.model.addWith(item, d.Policy, now, deadline, limit, d.Priority)
}

func (c *checkedSet) cancel(item int) {
	c.Helper()
	if got, want := c.set.Cancel(item), c.model.cancel(item); got != want {
		c.Fatalf("Cancel of item %d took back %+v, not %+v", item, got, want)
	}
}

func (c *checkedSet) addBatch(items []int) {
	c.set.AddBatch(items)
	for _, item := range items {
		c.model.add(item)
	}
}

// getBatch calls GetBatch if it does not block.
func (c *checkedSet) getBatch(n int) {
	c.Helper()
	ready := c.model.ready()
	if ready == 0 && !c.model.closed {
		return
	}
	dst := make([]int, n)
	got, err := c.set.GetBatch(context.Background(), dst)
	if want := min(n, ready); got != want || (err == ErrShutDown) != (ready == 0 && n > 0) {
		c.Fatalf("with %d ready items, GetBatch of %d returned %d, %v", ready, n, got, err)
	}
	for _, item := range dst[:got] {
		if !c.model.take(item) {
			c.Fatalf("GetBatch returned %v, but at the heads of the queues are %v", dst[:got], c.model.queues)
		}
	}
}

func (c *checkedSet) doneBatch(items []int) {
	c.set.DoneBatch(items)
	for _, item := range items {
		c.model.done(item)
	}
}

// nanoseconds returns the present on the axis that ticks divide.
func (c *checkedSet) nanoseconds() uint64 { return c.base + uint64(c.elapsed) }

// get calls Get if it does not block.
func (c *checkedSet) get() {
	c.Helper()
	ready := c.model.ready()
	if ready == 0 && !c.model.closed {
		return
	}
	priorities := c.model.run
	item, priority, shutdown := c.set.GetWithPriority()
	switch {
	case !shutdown && priority != priorities[item]:
		c.Fatalf("Get returned item %d with priority %d, not %d", item, priority, priorities[item])
	case shutdown != (ready == 0):
		c.Fatalf("with %d ready items, Get returned (%d, %v)", ready, item, shutdown)
	case shutdown && item != 0:
		c.Fatalf("at shutdown, Get returned item %d", item)
	case !shutdown && !c.model.take(item):
		c.Fatalf("Get returned %d, but at the heads of the queues are %v", item, c.model.queues)
	}
}

func (c *checkedSet) done(item int) {
	c.set.Done(item)
	c.model.done(item)
}

// doneSome calls Done for the items in processing that n divides.
func (c *checkedSet) doneSome(n int) {
	for _, item := range slices.Sorted(maps.Keys(c.model.processing)) {
		if item%n == 0 {
			c.done(item)
		}
	}
}

// step moves the clock, and compares what became ready because of it. The order
// of items of one deadline is not defined, and the model follows the queue.
func (c *checkedSet) step(d time.Duration) {
	c.Helper()
	c.clock.Step(d)
	c.elapsed += d
	places := map[int]int{}
	for i := range c.set.shards {
		for _, item := range readyItems(c, c.set.shard(i)) {
			places[item] = len(places)
		}
	}
	for _, group := range c.model.due(c.nanoseconds() / uint64(c.tick)) {
		c.model.stats.Expired += uint64(len(group))
		slices.SortFunc(group, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
		for _, item := range group {
			c.model.fire(item)
		}
	}
	c.checkOrder()
}

// checkOrder compares what is ready.
func (c *checkedSet) checkOrder() {
	c.Helper()
	for i := range c.set.shards {
		if got, want := readyItems(c, c.set.shard(i)), c.model.order(i); !slices.Equal(got, want) {
			c.Fatalf("shard %d has %v, not %v", i, got, want)
		}
	}
}

func (c *checkedSet) shutDown() {
	c.set.ShutDown()
	c.model.shutDown()
}

func (c *checkedSet) check() {
	c.Helper()
	checkSet(c, c.set)
	want := c.model.statsNow()
	if got := counts(c.set.Stats()); !reflect.DeepEqual(got, want) {
		c.Fatalf("Stats are\n%+v, not\n%+v", got, want)
	}
	if got := c.set.Len(); got != want.Ready {
		c.Fatalf("Len is %d, not %d", got, want.Ready)
	}
	if c.misused != want.Misused {
		c.Fatalf("the hook was called for %d misuses, not %d", c.misused, want.Misused)
	}
	if c.set.ShuttingDown() != c.model.closed {
		c.Fatalf("ShuttingDown is %v", c.set.ShuttingDown())
	}
	c.checkOrder()
	c.checkTimer()
}

// checkTimer checks that there is one timer, set for no later than the first
// deadline.
func (c *checkedSet) checkTimer() {
	c.Helper()
	timers := c.clock.Timers()
	if timers > 1 || c.model.closed && timers > 0 || len(c.model.waiting) > 0 && timers == 0 {
		c.Fatalf("%d timers are set for %d delayed items", timers, len(c.model.waiting))
	}
	next, set := c.clock.Next()
	for item, deadline := range c.model.waiting {
		if left := c.until(deadline); !set || next > left {
			c.Fatalf("item %d is due in %v, but the timer is set for %v (%v)", item, left, next, set)
		}
	}
}

// until returns how far a tick is from now.
func (c *checkedSet) until(tick uint64) time.Duration {
	if tick > math.MaxUint64/uint64(c.tick) {
		return math.MaxInt64
	}
	return time.Duration(min(tick*uint64(c.tick)-c.nanoseconds(), math.MaxInt64))
}

// stepToNext moves the clock to the next deadline of the model, if that is not
// too far off, and by more, which may be negative.
func (c *checkedSet) stepToNext(more time.Duration) (stepped bool) {
	c.Helper()
	if len(c.model.waiting) == 0 {
		return false
	}
	next := slices.Min(slices.Collect(maps.Values(c.model.waiting)))
	d := c.until(next)
	if d > farthest {
		return false
	}
	c.step(d + more)
	return true
}

// farthest is the longest step of the clock, so that it stays within its range.
const farthest = 1000 * time.Hour

// drainAll runs the set until nothing is ready, in processing or delayed,
// except delays that never expire, which are dropped. It checks that the queue
// then remembers nothing.
func (c *checkedSet) drainAll() {
	c.Helper()
	for more := true; more; more = c.stepToNext(0) {
		for c.model.ready()+len(c.model.processing) > 0 {
			for c.model.ready() > 0 {
				c.get()
			}
			c.doneSome(1)
		}
		c.check()
	}
	c.shutDown()
	c.get()
	c.check()
	for i := range c.set.shards {
		if ids := idsOf(c, c.set.shard(i)); len(ids) > 0 {
			c.Fatalf("an idle queue remembers %d items", len(ids))
		}
	}
}
