package limiter

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
)

func TestC31HistoryExpiresAfterDelayAndIdleTime(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := NewExponential[string](sec, time.Hour, o)
	requireDelays(t, l, "x", 1*sec, 2*sec, 4*sec)

	fake.Step(64*sec - 1)
	require.Equal(t, 3, l.NumRequeues("x"))
	fake.Step(1)
	require.Equal(t, 0, l.NumRequeues("x"))
	requireDelays(t, l, "x", 1*sec, 2*sec)
	require.Equal(t, 2, l.NumRequeues("x"))
}

func TestC31ExpiryNeverShortensARunningBackoff(t *testing.T) {
	o, fake := expiring(1)
	l := NewExponential[string](sec, time.Hour, o)
	for _, want := range []time.Duration{1 * sec, 2 * sec, 4 * sec, 8 * sec} {
		requireDelays(t, l, "x", want)
		fake.Step(want) // the delay has just expired, but not ForgetAfter, which is 1 ns
	}
	fake.Step(1)
	requireDelays(t, l, "x", sec)
}

func TestC31ExpiryWaitsForTheLatestEnd(t *testing.T) {
	o, fake := expiring(sec)
	l := NewFastSlow[string](time.Hour, sec, 1, o) // the first delay outlasts the second
	requireDelays(t, l, "x", time.Hour, sec)
	fake.Step(time.Hour)
	require.Equal(t, 2, l.NumRequeues("x"))
	fake.Step(sec)
	require.Equal(t, 0, l.NumRequeues("x"))
}

func TestC31HugeDelaysNeverExpire(t *testing.T) {
	o, fake := expiring(time.Hour)
	l := NewExponential[string](forever, forever, o)
	requireDelays(t, l, "x", forever)
	fake.Step(forever - 1)
	require.Equal(t, 1, l.NumRequeues("x"))
}

func TestC31H14ClockThatJumps(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := NewExponential[string](sec, time.Hour, o)
	requireDelays(t, l, "x", 1*sec)
	fake.Step(-time.Hour)
	requireDelays(t, l, "x", 2*sec)
	requireDelays(t, l, "y", 1*sec) // before the limiter was made
	fake.Step(61 * sec)
	require.Equal(t, 2, l.NumRequeues("x"), "its first delay runs for another hour on this clock")
	require.Equal(t, 0, l.NumRequeues("y"))
	fake.Step(2 * time.Hour)
	require.Equal(t, 0, l.NumRequeues("x"))
}

func TestC31WithoutForgetAfterNoClockIsRead(t *testing.T) {
	l := NewExponential[string](ms, sec, Options{Clock: brokenClock{}})
	l.When("x")
	l.Forget("x")
	l.NumRequeues("x")
}

// brokenClock panics in every method.
type brokenClock struct{ clock.Clock }

func TestC31SweepsTakeMemoryBack(t *testing.T) {
	const items = 20_000
	busy := map[string]func(Limiter[int]){
		"one item fails":    func(l Limiter[int]) { l.When(-1) },
		"others fail":       func(l Limiter[int]) { l.When(-1 - rand.IntN(1000)) },
		"others succeed":    func(l Limiter[int]) { l.Forget(-1 - rand.IntN(1000)) },
		"one item succeeds": func(l Limiter[int]) { l.Forget(-1) },
	}
	for name, call := range busy {
		t.Run(name, func(t *testing.T) {
			o, fake := expiring(time.Minute)
			l := NewExponential[int](ms, sec, o)
			for i := range items {
				l.When(i)
			}
			require.Equal(t, items, entries(t, l))
			fake.Step(time.Hour)
			for range 3 * items {
				call(l)
			}
			require.LessOrEqual(t, entries(t, l), 1000)
			require.LessOrEqual(t, slots(l), 8*1000+(1+minSlots)*maxStripes)
		})
	}
}

func TestC31SweepLeavesWhatHasNotExpired(t *testing.T) {
	o, fake := expiring(time.Minute)
	l := NewExponential[int](ms, sec, o)
	for i := range 1000 {
		l.When(i)
	}
	fake.Step(time.Minute) // the delays of 1 ms still run
	for range 10_000 {
		l.Forget(-1)
	}
	require.Equal(t, 1000, entries(t, l))
	for i := range 1000 {
		require.Equal(t, 1, l.NumRequeues(i))
	}
}

func TestC31MemoryIsBoundedUnderAStreamOfNewItems(t *testing.T) {
	o, fake := expiring(sec)
	l := NewExponential[int](ms, sec, o)
	most := 0
	for i := range 100_000 {
		l.When(i)
		fake.Step(ms) // so about 1000 histories are live at any time
		if i%1000 == 0 {
			most = max(most, entries(t, l))
		}
	}
	require.Less(t, most, 10_000, "about 2,600 with two processors and 4,900 with eight, because a stripe is swept by its own calls")
}

func TestC31ForgetGivesEverythingBack(t *testing.T) {
	l := NewExponential[int](ms, sec)
	for i := range 50_000 {
		l.When(i)
	}
	require.Greater(t, slots(l), 50_000)
	for i := range 50_000 {
		l.Forget(i)
	}
	require.Zero(t, entries(t, l))
	require.LessOrEqual(t, slots(l), (1+minSlots)*maxStripes)
}

func TestC31ForgottenAndExpiredItemsAreNotReferredTo(t *testing.T) {
	collected := func(p weak.Pointer[[64]byte]) bool {
		for range 10 {
			if runtime.GC(); p.Value() == nil {
				return true
			}
		}
		return false
	}
	item := func() (*[64]byte, weak.Pointer[[64]byte]) {
		p := new([64]byte)
		return p, weak.Make(p)
	}
	t.Run("forgotten", func(t *testing.T) {
		l := NewExponential[*[64]byte](ms, sec)
		p, w := item()
		l.When(p)
		l.Forget(p)
		require.True(t, collected(w))
		l.When(nil)
	})
	t.Run("expired", func(t *testing.T) {
		o, fake := expiring(sec)
		l := NewExponential[*[64]byte](ms, sec, o)
		p, w := item()
		l.When(p)
		fake.Step(time.Hour)
		for range 100 * maxStripes {
			l.Forget(nil)
		}
		require.True(t, collected(w))
		l.When(nil)
	})
}

func TestC31AnUnusedLimiterHasNoTable(t *testing.T) {
	l := NewExponential[string](ms, sec)
	l.Forget("x")
	l.NumRequeues("x")
	require.Nil(t, l.(*perItem[string]).stripes.Load())
}

// TestC31StripeFillsACacheLine checks the sizes of a stripe and a history. On
// 32-bit platforms a stripe is smaller than a cache line, so two of them may
// share one.
func TestC31StripeFillsACacheLine(t *testing.T) {
	stripes, histories := uintptr(64), uintptr(32)
	if bits.UintSize == 32 {
		stripes, histories = 48, 24
	}
	require.Equal(t, stripes, unsafe.Sizeof(stripe[string]{}))
	require.Equal(t, histories, unsafe.Sizeof(history[string]{}))
}

func TestC31StripesGrowWithProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for processors, want := range map[int]int{1: 64, 2: 128, 3: 256, 8: 512, 100: 512} {
		runtime.GOMAXPROCS(processors)
		s := newStripes[int]()
		require.Len(t, s.all, want)
		require.Same(t, &s.all[0], s.of(0))
		require.Same(t, &s.all[want-1], s.of(math.MaxUint64))
	}
}

// TestC31ConcurrentFailuresAreAllCounted adds up the counts of all failures.
// None is lost to another failure, to a growing table or to a sweep.
func TestC31ConcurrentFailuresAreAllCounted(t *testing.T) {
	for _, after := range []time.Duration{0, 24 * time.Hour} {
		t.Run(fmt.Sprint("forget after ", after), func(t *testing.T) {
			const workers, rounds, items = 8, 3000, 50
			o, fake := expiring(after)
			l := NewExponential[int](1, forever, o)
			var group sync.WaitGroup
			for worker := range workers {
				group.Go(func() {
					for i := range rounds {
						l.When((i * (worker + 1)) % items)
						l.Forget(-1 - i) // other items, so that sweeps run too
						fake.Step(1)
					}
				})
			}
			group.Wait()
			total := 0
			for item := range items {
				total += l.NumRequeues(item)
			}
			require.Equal(t, workers*rounds, total)
			require.Equal(t, items, entries(t, l))
		})
	}
}

// TestC31ConcurrentForgetLosesNoFailure: each history returns its delays in
// order, from the first, and each once. So for any interleaving of When and
// Forget, an item's n+1st delay is returned no more often than its n-th. The
// first is returned at most once more than Forget (or expiry) deleted a
// history.
func TestC31ConcurrentForgetLosesNoFailure(t *testing.T) {
	const workers, rounds, items = 8, 4000, 20
	l := NewExponential[int](1, forever)
	var returned [items][64]atomic.Int64
	var forgets [items]atomic.Int64
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(worker)))
			for range rounds {
				item := random.IntN(items)
				if random.IntN(8) == 0 {
					forgets[item].Add(1)
					l.Forget(item)
				} else {
					returned[item][logarithm(l.When(item))].Add(1)
				}
			}
		})
	}
	group.Wait()
	for item := range items {
		more := forgets[item].Load() + 1
		for n := range len(returned[item]) - 1 { // the last is the largest, which repeats
			count := returned[item][n].Load()
			require.LessOrEqual(t, count, more, "item %d, delay %d", item, n)
			more = count
		}
	}
	entries(t, l)
}

// TestC31ConcurrentExpiryLosesNoFailure is the same with expiry in place of
// Forget. Histories expire between the phases. The clock stands still within
// them, so that the number of new histories is known.
func TestC31ConcurrentExpiryLosesNoFailure(t *testing.T) {
	const workers, phases, rounds, items = 8, 20, 200, 100
	o, fake := expiring(time.Minute)
	l := NewExponential[int](1, sec, o)
	for range phases {
		var returned [items][64]atomic.Int64
		var group sync.WaitGroup
		for worker := range workers {
			group.Go(func() {
				random := rand.New(rand.NewPCG(2, uint64(worker)))
				for range rounds {
					item := random.IntN(items)
					returned[item][logarithm(l.When(item))].Add(1)
					l.Forget(-1) // sweeps as well
				}
			})
		}
		group.Wait()
		for item := range items {
			most := int64(1)
			for n := range 20 {
				count := returned[item][n].Load()
				require.LessOrEqual(t, count, most, "item %d, delay %d", item, n)
				most = count
			}
		}
		fake.Step(time.Hour)
	}
}

// logarithm returns n for a delay of 2ⁿ.
func logarithm(d time.Duration) int { return min(math.Ilogb(float64(d)), 63) }

func TestC31ConcurrentEverything(t *testing.T) {
	const workers, rounds = 8, 5000
	o, fake := expiring(50)
	l := NewExponential[string](1, 100, o)
	items := make([]string, 300)
	for i := range items {
		items[i] = fmt.Sprint("item ", i)
	}
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(worker)))
			for range rounds {
				item := items[random.IntN(len(items))]
				switch random.IntN(4) {
				case 0:
					if d := l.When(item); d < 0 || d > 100 {
						t.Errorf("delay %v", d)
					}
				case 1:
					l.Forget(item)
				case 2:
					if n := l.NumRequeues(item); n < 0 || n > workers*rounds {
						t.Errorf("%d requeues", n)
					}
				default:
					fake.Step(1)
				}
			}
		})
	}
	group.Wait()
	entries(t, l)
	fake.Step(time.Hour)
	for _, item := range items {
		require.Zero(t, l.NumRequeues(item))
		require.Equal(t, time.Duration(1), l.When(item))
	}
}

func TestC31SweepSkipsALockedStripe(t *testing.T) {
	o, fake := expiring(sec)
	l := NewExponential[int](ms, sec, o).(*perItem[int])
	l.When(1)
	fake.Step(time.Hour)
	all := l.stripes.Load().all
	for i := range all {
		all[i].mu.Lock()
		all[i].sweep(&l.idle, l.idle.now()) // does not block
		all[i].mu.Unlock()
	}
	require.Equal(t, 1, entries[int](t, l))
	for i := range all {
		all[i].sweep(&l.idle, l.idle.now())
	}
	require.Equal(t, 0, entries[int](t, l))
}

func TestC27ExpiryWithTheRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewExponential[string](sec, time.Hour, Options{ForgetAfter: time.Minute})
		requireDelays(t, l, "x", 1*sec, 2*sec)
		time.Sleep(62*sec - 1)
		require.Equal(t, 2, l.NumRequeues("x"))
		time.Sleep(time.Nanosecond)
		require.Equal(t, 0, l.NumRequeues("x"))
	})
}

func TestC27BucketWithTheRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := DefaultController[int]()
		for i := range 100 {
			require.Equal(t, 5*ms, l.When(i))
		}
		requireDelays(t, l, 100, 100*ms)
		time.Sleep(10 * sec)
		requireDelays(t, l, 101, 5*ms)
	})
}

type pair struct{ namespace, name string }

func TestC31NothingIsAllocatedPerCall(t *testing.T) {
	o, fake := expiring(time.Hour)
	jitter := Backoff{Duration: ms, Factor: 2, Jitter: 0.5, Steps: 20, Cap: sec}
	requireNoAllocs(t, "string", NewExponential[string](ms, sec), "namespace/name")
	requireNoAllocs(t, "pair", NewExponential[pair](ms, sec), pair{"namespace", "name"})
	requireNoAllocs(t, "integer", NewExponential[int64](ms, sec), 42)
	requireNoAllocs(t, "pointer", NewExponential[*pair](ms, sec), &pair{})
	requireNoAllocs(t, "interface", NewExponential[any](ms, sec), any("namespace/name"))
	requireNoAllocs(t, "fast and slow", NewFastSlow[string](ms, sec, 3), "namespace/name")
	requireNoAllocs(t, "jitter", NewItemBackoff[string](jitter), "namespace/name")
	requireNoAllocs(t, "expiring", NewExponential[string](ms, sec, o), "namespace/name")
	requireNoAllocs(t, "default", DefaultController[string](Options{Clock: fake}), "namespace/name")
	requireNoAllocs(t, "real clock", NewWithMaxWait(DefaultController[string](), sec), "namespace/name")
}

func requireNoAllocs[T comparable](t *testing.T, name string, l Limiter[T], item T) {
	t.Helper()
	require.Zero(t, testing.AllocsPerRun(100, func() { l.When(item) }), "%s: When of a known item", name)
	require.Zero(t, testing.AllocsPerRun(100, func() { l.NumRequeues(item) }), "%s: NumRequeues", name)
	require.Zero(t, testing.AllocsPerRun(100, func() { l.Forget(item); l.When(item) }), "%s: Forget and When", name)
}
