package contract

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/shardqtest"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

const tick = shardq.DefaultTick

// delays returns delays around the bounds of ticks and of the levels of the
// timer wheel.
func delays() []time.Duration {
	short := []time.Duration{
		1, time.Microsecond, tick - 1, tick, tick + 1, 1500 * time.Microsecond, 2 * tick,
		10 * time.Millisecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 5 * 365 * 24 * time.Hour,
	}
	for span := 64 * tick; span < 1000*time.Hour; span *= 64 {
		short = append(short, span-tick, span-1, span, span+1, span+tick)
	}
	return short
}

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

// itemsOf returns the items of rows.
func itemsOf[T comparable](rows []stats.Item[T]) (items []T) {
	for _, row := range rows {
		items = append(items, row.Item)
	}
	return items
}

// requireStillFalse checks that passed is false after all other goroutines of
// the bubble are blocked.
func requireStillFalse(t *testing.T, passed func() bool, why string) {
	t.Helper()
	synctest.Wait()
	require.False(t, passed(), why)
}

// requireBecomesTrue checks that passed is true after all other goroutines of
// the bubble are blocked.
func requireBecomesTrue(t *testing.T, passed func() bool) {
	t.Helper()
	synctest.Wait()
	require.True(t, passed())
}

// owners has a word for each key, which a worker sets while it processes the
// key. If the word is set already, exclusion is broken.
type owners struct {
	words   []atomic.Bool
	clashes atomic.Int64
}

func (o *owners) enter(key int) { o.count(o.words[key].CompareAndSwap(false, true)) }

func (o *owners) leave(key int) { o.count(o.words[key].CompareAndSwap(true, false)) }

func (o *owners) count(ok bool) {
	if !ok {
		o.clashes.Add(1)
	}
}

// A load adds and processes a few keys of one queue in many goroutines.
type load struct {
	q      *shardq.Queue[int]
	keys   int
	owners *owners
	served atomic.Int64
}

// produce adds keys in all ways. In between it misuses the queue, by Dones of
// keys that are delayed for an hour or were never added. It stops some time
// after a shutdown began.
func (h *load) produce(seed, adds int) {
	random := rand.New(rand.NewPCG(uint64(seed), 1))
	for late := 0; adds > 0 && late < 50; adds-- {
		if h.q.ShuttingDown() {
			late++
		}
		key := random.IntN(h.keys)
		switch random.IntN(8) {
		case 0:
			h.q.AddAfter(key, time.Duration(random.IntN(2000))*time.Microsecond)
		case 1:
			h.q.AddRateLimited(key)
			h.q.Forget(key)
		case 2:
			h.q.AddAfter(h.keys+key, time.Hour)
			h.q.Done(h.keys + key)
		case 3:
			h.q.Done(-key - 1)
			runtime.Gosched()
		default:
			h.q.Add(key)
		}
	}
}

// serve processes one item, or reports that the queue is shut down. However
// mind ends, the item is Done.
func (h *load) serve(mind func()) (shutdown bool) {
	key, shutdown := h.q.Get()
	if shutdown {
		return true
	}
	defer h.q.Done(key)
	h.owners.enter(key)
	defer h.owners.leave(key)
	h.served.Add(1)
	mind()
	return false
}

func (h *load) consume() {
	for !h.serve(runtime.Gosched) {
	}
}

// consumeMortally is consume by one goroutine after the other. Each ends by a
// panic or Goexit after some items.
func (h *load) consumeMortally() {
	shutdown := false
	for life := 0; !shutdown; life++ {
		died := make(chan struct{})
		go func() {
			defer close(died)
			defer func() { _ = recover() }()
			shutdown = h.consumeUntilDeath(life)
		}()
		<-died
	}
}

func (h *load) consumeUntilDeath(life int) (shutdown bool) {
	for age := 0; !shutdown; age++ {
		shutdown = h.serve(func() {
			switch {
			case age < 3:
			case life%2 == 0:
				panic("a worker's own fault")
			default:
				runtime.Goexit()
			}
		})
	}
	return shutdown
}

// run starts producers and consumers, calls stop in the middle, and waits until
// all have returned.
func (h *load) run(adds int, consume, stop func()) {
	var consumers, producers sync.WaitGroup
	for range 6 {
		consumers.Go(consume)
	}
	for seed := range 4 {
		producers.Go(func() { h.produce(seed, adds) })
	}
	stop()
	producers.Wait()
	h.q.ShutDown()
	consumers.Wait()
}

func (h *load) requireSound(t *testing.T) {
	t.Helper()
	require.Zero(t, h.owners.clashes.Load(), "two workers at one key")
	require.NotZero(t, h.served.Load())
	requireCounts(t, h.q, 0, 0, 0)
}

func unique[T comparable](items []T) map[T]bool {
	set := make(map[T]bool, len(items))
	for _, item := range items {
		set[item] = true
	}
	return set
}

// takers are all ways to take items. Each takes some, and blocks until there
// are.
func takers(q *shardq.Queue[string]) []func(ctx context.Context) (items []string, err error) {
	batch := func(ctx context.Context) ([]string, error) {
		items := make([]string, 3)
		n, err := q.GetBatch(ctx, items)
		return items[:n], err
	}
	return []func(ctx context.Context) ([]string, error){
		func(context.Context) ([]string, error) {
			item, shutdown := q.Get()
			if shutdown {
				return nil, shardq.ErrShutDown
			}
			return []string{item}, nil
		},
		func(ctx context.Context) ([]string, error) {
			item, err := q.GetContext(ctx)
			return []string{item}, err
		},
		func(context.Context) ([]string, error) {
			item, _, shutdown := q.GetWithPriority()
			if shutdown {
				return nil, shardq.ErrShutDown
			}
			return []string{item}, nil
		},
		func(ctx context.Context) ([]string, error) {
			claim, err := q.Claim(ctx)
			return []string{claim.Item}, err
		},
		batch,
		func(ctx context.Context) (items []string, err error) {
			claims := make([]worker.Claim[string], 3)
			n, err := q.ClaimBatch(ctx, claims)
			for _, c := range claims[:n] {
				items = append(items, c.Item)
			}
			return items, err
		},
	}
}

// tenant returns the group of an item such as "a/1": the text before the slash.
func tenant(item string) string {
	name, _, _ := strings.Cut(item, "/")
	return name
}

// ofTenant returns the items "name/0" to "name/n-1".
func ofTenant(name string, n int) (items []string) {
	for i := range n {
		items = append(items, fmt.Sprintf("%s/%d", name, i))
	}
	return items
}

// forEachShardCount runs a test with one shard, which has client-go's order,
// with the smallest number above that, and with a usual number.
func forEachShardCount(t *testing.T, test func(t *testing.T, shards int)) {
	t.Helper()
	for _, shards := range []int{1, 2, 16} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) { test(t, shards) })
	}
}

// forEachShardCountInBubble is forEachShardCount with each run in a synctest
// bubble of its own.
func forEachShardCountInBubble(t *testing.T, test func(t *testing.T, shards int)) {
	t.Helper()
	forEachShardCount(t, func(t *testing.T, shards int) {
		synctest.Test(t, func(t *testing.T) { test(t, shards) })
	})
}

// A timeline is a queue's clock together with a way to let time pass on it.
// When pass returns, all delays that are due have expired.
type timeline struct {
	clock clock.Clock
	pass  func(time.Duration)
}

// now returns the time on the queue's clock.
func (l timeline) now() time.Time { return l.clock.Now() }

// forEachClock runs a test with a fake clock that is stepped, and with the real
// clock in a synctest bubble, for every shard count.
func forEachClock(t *testing.T, test func(t *testing.T, shards int, line timeline)) {
	t.Helper()
	forEachShardCount(t, func(t *testing.T, shards int) {
		t.Run("clock=fake", func(t *testing.T) { test(t, shards, fakeTimeline()) })
		t.Run("clock=real", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, shards, bubbleTimeline()) })
		})
	})
}

func fakeTimeline() timeline {
	fake := newFake()
	return timeline{clock: fake, pass: fake.Step}
}

// bubbleTimeline must be called in a bubble.
func bubbleTimeline() timeline {
	return timeline{clock: clock.Real(), pass: func(d time.Duration) {
		time.Sleep(d)
		synctest.Wait()
	}}
}

func newFake() *clock.Fake {
	return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

// newQueue returns a queue with default options, except for its shards.
func newQueue[T comparable](shards int) *shardq.Queue[T] {
	return shardq.MustNew(shardq.Options[T]{Shards: shards})
}

// take returns the next item, and fails where Get would block.
func take[T comparable](t *testing.T, q *shardq.Queue[T]) T {
	t.Helper()
	require.NotZero(t, q.Len(), "nothing is ready")
	item, shutdown := q.Get()
	require.False(t, shutdown, "shutdown with an item ready")
	return item
}

// takeItem takes the next item, which must be want.
func takeItem[T comparable](t *testing.T, q *shardq.Queue[T], want T) {
	t.Helper()
	require.Equal(t, want, take(t, q))
}

// takeAll takes all ready items, without Done.
func takeAll[T comparable](t *testing.T, q *shardq.Queue[T]) []T {
	t.Helper()
	var items []T
	for range q.Len() {
		item, shutdown := q.Get()
		require.False(t, shutdown, "shutdown with an item ready")
		items = append(items, item)
	}
	return items
}

// finishAll takes all ready items, and then calls Done of each.
func finishAll[T comparable](t *testing.T, q *shardq.Queue[T]) []T {
	t.Helper()
	items := takeAll(t, q)
	for _, item := range items {
		q.Done(item)
	}
	return items
}

// requireCycle adds, takes and ends an item, to check that a queue works.
func requireCycle[T comparable](t *testing.T, q *shardq.Queue[T], item T) {
	t.Helper()
	require.Zero(t, q.Len())
	q.Add(item)
	require.Equal(t, 1, q.Len())
	got := take(t, q)
	require.True(t, got == item, "added %v, got %v", item, got)
	require.Zero(t, q.Len())
	q.Done(item)
	requireCounts(t, q, 0, 0, 0)
}

// requireCounts checks the numbers of items by their states.
func requireCounts[T comparable](t *testing.T, q *shardq.Queue[T], ready, delayed, processing int) {
	t.Helper()
	stats := q.Stats()
	require.Equal(t, ready, stats.Ready, "ready")
	require.Equal(t, delayed, stats.Delayed, "delayed")
	require.Equal(t, processing, stats.Processing, "processing")
	require.Equal(t, ready, q.Len(), "Len")
}

// requireGetSaysShutdown checks that Get returns the zero T and true. In a
// bubble, a Get that blocks instead is a deadlock, which synctest reports.
func requireGetSaysShutdown[T comparable](t *testing.T, q *shardq.Queue[T]) {
	t.Helper()
	item, shutdown := q.Get()
	require.True(t, shutdown)
	require.Zero(t, item)
}

// together runs f in n goroutines that start at the same time, and waits for
// all of them.
func together(n int, f func(i int)) {
	var group sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	group.Wait()
}

// returned starts f in a goroutine. The function that it returns reports
// whether f has returned.
func returned(f func()) func() bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// scaled returns the size of a test: testscale.N(full). With -short, and under
// the race detector, which makes everything slow, it returns at most reduced.
func scaled(full, reduced int) int {
	n := testscale.N(full)
	if raceDetector || testing.Short() {
		return min(n, testscale.N(10*reduced))
	}
	return n
}

// burstSize returns the size of a burst. At full scale it is a million for a
// usual number of shards, and less for the others to save time.
func burstSize(shards int) int {
	if shards < 16 {
		return scaled(200_000, 50_000)
	}
	return scaled(1_000_000, 100_000)
}

// numbers returns 0 to n-1.
func numbers(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

// counts returns only the counters and gauges of the stats.
func counts(stats shardq.Stats) shardq.Stats {
	stats.PerShard, stats.Priorities, stats.Metrics, stats.NextDue = nil, nil, nil, time.Time{}
	stats.Capacity, stats.Limited, stats.Parked, stats.Workers, stats.ShuttingDown = 0, 0, 0, 0, false
	return stats
}

// Two of the constants of xxHash64. They are variables because their sum
// overflows.
var (
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
)

// collidingKey returns the n-th of many strings that all have one xxhash. Of
// each stripe of 32 bytes the hash takes the first 8 into a lane by
//
//	lane = rotate(lane + word*prime2, 31) * prime1
//
// which can be solved for word: whatever the first stripe did to the lane, the
// word in the second stripe brings it back to a fixed value.
func collidingKey(n uint64) string {
	var key [64]byte
	binary.LittleEndian.PutUint64(key[:], n)
	lane := bits.RotateLeft64(prime1+prime2+n*prime2, 31) * prime1
	word := (0 - lane) * inverse(prime2) // makes lane + word*prime2 zero
	binary.LittleEndian.PutUint64(key[32:], word)
	return string(key[:])
}

// inverse returns the x for which odd*x is 1, by Newton's method.
func inverse(odd uint64) uint64 {
	x := odd
	for range 6 {
		x *= 2 - odd*x
	}
	return x
}

func addAll[T comparable](q *shardq.Queue[T], items []T) {
	for _, item := range items {
		q.Add(item)
	}
}

func doneAll[T comparable](q *shardq.Queue[T], items []T) {
	for _, item := range items {
		q.Done(item)
	}
}

// requireExactly checks that got holds each of the wanted items once, by ==.
func requireExactly[T comparable](t *testing.T, want, got []T) {
	t.Helper()
	require.Len(t, got, len(want))
	found := unique(got)
	for _, item := range want {
		require.True(t, found[item], "%#v is missing", item)
	}
}

// notEqualToItself is an item that could never be found again.
type notEqualToItself struct {
	name  string
	value float64
}

func waysToAdd[T comparable](q *shardq.Queue[T]) []func(T) {
	return []func(T){
		q.Add,
		q.AddRateLimited,
		func(item T) { q.AddAfter(item, time.Hour) },
		func(item T) { q.AddAfter(item, time.Nanosecond) },
		func(item T) { q.AddAfter(item, 0) },
		func(item T) { q.AddAfter(item, math.MinInt64) },
		func(item T) { q.AddAfter(item, math.MaxInt64) },
	}
}

// payload is what an item points to. A weak pointer shows whether the collector
// freed it.
type payload struct {
	number int
	_      [64]byte // so that it shares no memory with other small objects
}

// pointer is an item that is not equal to itself when value is NaN.
type pointer struct {
	to    *payload
	value float64
}

// constantOfC8 is the constant in "at most twice what a fresh queue uses plus a
// small constant".
const constantOfC8 = 32 << 10

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second one empties the pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// requireMemoryReturns makes a queue, uses it, and compares its memory when
// idle with its memory when new.
func requireMemoryReturns[T comparable](t *testing.T, options shardq.Options[T], use func(*shardq.Queue[T])) {
	t.Helper()
	before := heap()
	q := shardq.MustNew(options)
	fresh := heap() - before
	use(q)
	requireCounts(t, q, 0, 0, 0)
	idle := heap() - before
	runtime.KeepAlive(q)
	require.LessOrEqual(t, idle, 2*fresh+constantOfC8, "fresh: %d bytes", fresh)
}

// finishOneByOne takes and ends n items, one after the other.
func finishOneByOne[T comparable](t *testing.T, q *shardq.Queue[T], n int) {
	t.Helper()
	for range n {
		item, shutdown := q.Get()
		if shutdown {
			t.Fatal("shutdown")
		}
		q.Done(item)
	}
}

// servedWithin limits the number of Gets until the item at place p of its shard
// is handed out. Shards have turns of 8 items one after the other, and
// consumers visit them from 4 places. The limit shows that every item is handed
// out, however full the other shards stay.
func servedWithin(place, shards int) int { return 4 * shards * (place + 2*8) }

// A faultInjector panics at one call of one function.
type faultInjector struct {
	mu       sync.Mutex
	function string
	at       int // 0 is never
	calls    int
	off      bool
}

var errInjected = errors.New("injected")

func (w *faultInjector) step(function string) {
	w.mu.Lock()
	panics := false
	if !w.off && function == w.function {
		w.calls++
		panics = w.calls == w.at
	}
	w.mu.Unlock()
	if panics {
		panic(errInjected)
	}
}

// disabled runs do without counting calls.
func (w *faultInjector) disabled(do func()) {
	w.turn(true)
	defer w.turn(false)
	do()
}

func (w *faultInjector) turn(off bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.off = off
}

// panics runs do, and reports whether the injected panic occurred. Other panics
// pass.
func (w *faultInjector) panics(do func()) (panicked bool) {
	defer func() {
		if r := recover(); r != nil {
			fault, _ := r.(error)
			if panicked = errors.Is(fault, errInjected); !panicked {
				panic(r)
			}
		}
	}()
	do()
	return false
}

// retry runs do until it does not panic, which is the second time at the
// latest.
func (w *faultInjector) retry(do func()) {
	if w.panics(do) {
		do()
	}
}

type injectedClock struct {
	*clock.Fake
	injector *faultInjector
}

func (c injectedClock) Now() time.Time { c.injector.step("Now"); return c.Fake.Now() }

func (c injectedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.injector.step("AfterFunc")
	return injectedTimer{c.Fake.AfterFunc(d, f), c.injector}
}

type injectedTimer struct {
	clock.Timer
	injector *faultInjector
}

func (t injectedTimer) Reset(d time.Duration) bool { t.injector.step("Reset"); return t.Timer.Reset(d) }

func (t injectedTimer) Stop() bool { t.injector.step("Stop"); return t.Timer.Stop() }

// work runs workers, and new ones when they have panicked, until all items that
// feed adds are settled.
func (w *faultInjector) work(fake *clock.Fake, run func() error, feed func(i int)) (over func() bool) {
	start := func() func() bool { return returned(func() { w.panics(func() { _ = run() }) }) }
	over = start()
	for i := range 60 {
		if i < 12 {
			feed(i)
		}
		w.panics(func() { fake.Step(7 * time.Millisecond) })
		synctest.Wait()
		if over() {
			over = start()
		}
	}
	synctest.Wait()
	return over
}

type run struct {
	place, priority int
	deadline        time.Duration // 0 if the delay is over
}

// A history notes what a handler and its hooks were called with, and when.
type history struct {
	start time.Time
	now   func() time.Time
	lines []string
}

func (h *history) options(script *shardqtest.Script[string]) worker.Options[string] {
	note := func(what, item string, number int) {
		h.lines = append(h.lines, fmt.Sprintf("%v %s %s %d", h.now().Sub(h.start), what, item, number))
	}
	return worker.Options[string]{
		Workers: 1, MaxAttempts: 5, Timeout: time.Minute,
		Handle: func(ctx context.Context, item string) error {
			note("handle", item, script.Attempts(item)+1)
			return script.Handle(ctx, item)
		},
		OnError:   func(_ context.Context, f worker.Failure[string]) { note("failed", f.Item, f.Attempt) },
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { note("discarded", f.Item, f.Attempt) },
	}
}

const fault = "the user's own fault"

// requireShutsDown checks that no lock is held and that no call blocks forever.
func requireShutsDown[T comparable](t *testing.T, q *shardq.Queue[T]) {
	t.Helper()
	q.ShutDownWithDrain()
	q.ShutDown()
	requireGetSaysShutdown(t, q)
	requireCounts(t, q, 0, 0, 0)
}
