package traffic

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/stress/ledger"
	"github.com/shardq/shardq/worker"
)

// spoiled is a queue with a fault. Each saboteur sets the functions that it
// spoils. A function that is nil is that of the queue.
type spoiled struct {
	target
	calls     atomic.Int64
	get       func() (int, bool)
	add       func(key int) bool // it reports whether the add goes on
	with      func(addOptions) addOptions
	done      func(key int)
	cancel    func(key int) shardq.Canceled
	batch     func(keys []int) []int
	drain     func(context.Context, shardq.DrainOptions) ([]int, error)
	shutDown  func()
	withDrain func()
	resume    func()
	pause     func()
	setRate   func(shardq.Rate)
	refresh   func(group string)
	waitIdle  func(context.Context) error
	all       func(stats.State) iter.Seq[stats.Item[int]]
	forget    func(key int)
	lookup    func(key int) (stats.Item[int], bool)
	newPool   func(*worker.Options[int])
	tryAdd    func(key int, o addOptions) error
}

// every reports true for one call of n.
func (s *spoiled) every(n int64) bool { return s.calls.Add(1)%n == 0 }

func (s *spoiled) options(o addOptions) addOptions {
	if s.with != nil {
		o = s.with(o)
	}
	return o
}

func (s *spoiled) Add(key int) {
	if s.add == nil || s.add(key) {
		s.target.Add(key)
	}
}

func (s *spoiled) AddAfter(key int, d time.Duration) {
	s.target.AddAfter(key, s.options(addOptions{After: d}).After)
}
func (s *spoiled) AddWith(key int, o addOptions) { s.target.AddWith(key, s.options(o)) }

func (s *spoiled) TryAdd(key int, o addOptions) error {
	if s.tryAdd != nil {
		return s.tryAdd(key, o)
	}
	return s.target.TryAdd(key, s.options(o))
}

func (s *spoiled) AddBatch(keys []int, o addOptions) {
	if s.batch != nil {
		keys = s.batch(keys)
	}
	s.target.AddBatch(keys, s.options(o))
}

func (s *spoiled) Get() (int, bool) {
	if s.get != nil {
		return s.get()
	}
	return s.target.Get()
}

func (s *spoiled) Done(key int) {
	if s.done != nil {
		s.done(key)
		return
	}
	s.target.Done(key)
}

func (s *spoiled) Cancel(key int) shardq.Canceled {
	if s.cancel != nil {
		return s.cancel(key)
	}
	return s.target.Cancel(key)
}

func (s *spoiled) Drain(ctx context.Context, o shardq.DrainOptions) ([]int, error) {
	if s.drain != nil {
		return s.drain(ctx, o)
	}
	return s.target.Drain(ctx, o)
}

func (s *spoiled) ShutDown()          { call(s.shutDown, s.target.ShutDown) }
func (s *spoiled) ShutDownWithDrain() { call(s.withDrain, s.target.ShutDownWithDrain) }
func (s *spoiled) Resume()            { call(s.resume, s.target.Resume) }
func (s *spoiled) Pause()             { call(s.pause, s.target.Pause) }

func call(spoiled, sound func()) {
	if spoiled != nil {
		spoiled()
		return
	}
	sound()
}

func (s *spoiled) SetRate(r shardq.Rate) {
	if s.setRate != nil {
		s.setRate(r)
		return
	}
	s.target.SetRate(r)
}

func (s *spoiled) RefreshGroup(group string) {
	if s.refresh != nil {
		s.refresh(group)
		return
	}
	s.target.RefreshGroup(group)
}

func (s *spoiled) WaitIdle(ctx context.Context) error {
	if s.waitIdle != nil {
		return s.waitIdle(ctx)
	}
	return s.target.WaitIdle(ctx)
}

func (s *spoiled) All(state stats.State) iter.Seq[stats.Item[int]] {
	if s.all != nil {
		return s.all(state)
	}
	return s.target.All(state)
}

func (s *spoiled) Forget(key int) {
	if s.forget != nil {
		s.forget(key)
		return
	}
	s.target.Forget(key)
}

func (s *spoiled) Lookup(key int) (stats.Item[int], bool) {
	if s.lookup != nil {
		return s.lookup(key)
	}
	return s.target.Lookup(key)
}

func (s *spoiled) NewPool(o worker.Options[int], stamps stamper) (*worker.Pool[int], error) {
	if s.newPool != nil {
		s.newPool(&o)
	}
	return s.target.NewPool(o, stamps)
}

func wrapped(set func(*spoiled)) saboteur {
	return saboteur{wrap: func(q target) target {
		s := &spoiled{target: q}
		set(s)
		return s
	}}
}

func changed(change func(*shardq.Options[int])) saboteur { return saboteur{options: change} }

func with(change func(*addOptions)) saboteur {
	return wrapped(func(s *spoiled) {
		s.with = func(o addOptions) addOptions { change(&o); return o }
	})
}

// left holds the goroutine that a saboteur leaves behind until the test ends.
var left = make(chan struct{})

var errInvented = errors.New("invented")

// saboteurs must each be found, by a check whose report has the word.
var saboteurs = map[string]struct {
	word string
	saboteur
}{
	"an add is lost": {"no lost add", wrapped(func(s *spoiled) {
		s.add = func(int) bool { return !s.every(50) }
	})},
	"a batch loses its last": {"no lost add", wrapped(func(s *spoiled) {
		s.batch = func(keys []int) []int { return keys[:len(keys)-1] }
	})},
	"an add waits for the next": {"", wrapped(func(s *spoiled) {
		var kept atomic.Int64
		s.add = func(key int) bool {
			if next := kept.Swap(int64(key)); next > 0 {
				s.target.Add(int(next))
			}
			return key == 0
		}
	})},
	"a hand-out is doubled": {"", wrapped(func(s *spoiled) {
		var last atomic.Int64
		s.get = func() (int, bool) {
			if key := last.Load(); key > 0 && s.every(20) {
				return int(key), false
			}
			key, shutdown := s.target.Get()
			last.Store(int64(key))
			return key, shutdown
		}
	})},
	"a key runs twice": {"", wrapped(func(s *spoiled) {
		s.done = func(key int) {
			if key >= 0 && s.every(20) {
				s.target.Add(key)
			}
			s.target.Done(key)
		}
	})},
	"a turn ends early": {"exclusion", wrapped(func(s *spoiled) {
		s.get = func() (int, bool) {
			key, shutdown := s.target.Get()
			if !shutdown && s.every(5) {
				s.target.Done(key)
			}
			return key, shutdown
		}
	})},
	"a Get loses its key": {"no lost wake-up", wrapped(func(s *spoiled) {
		s.get = func() (int, bool) {
			if s.every(50) {
				s.target.Get()
			}
			return s.target.Get()
		}
	})},
	"two keys change places": {"order", wrapped(func(s *spoiled) {
		var mu sync.Mutex
		kept, some := 0, false
		s.get = func() (int, bool) {
			mu.Lock()
			if some {
				some = false
				mu.Unlock()
				return kept, false
			}
			mu.Unlock()
			key, shutdown := s.target.Get()
			if shutdown || !s.every(10) {
				return key, shutdown
			}
			mu.Lock()
			defer mu.Unlock()
			if next, ok := s.target.TryClaim(); ok && !some {
				kept, some = key, true
				return next.Item, false
			} else if ok {
				_ = next.Release()
			}
			return key, shutdown
		}
	})},
	"delays are early": {"delays", with(func(o *addOptions) { o.After -= o.After / 2 })},
	"a backoff is short": {"delays", changed(func(o *shardq.Options[int]) {
		o.RateLimiter = shortLimiter{o.RateLimiter.(hostileLimiter)}
	})},
	"the latest deadline is ignored": {"delays", with(func(o *addOptions) {
		if o.Policy == shardq.KeepLatest {
			o.Policy = shardq.KeepEarliest
		}
	})},
	"MaxWait is ignored":       {"delays", with(func(o *addOptions) { o.MaxWait = 0 })},
	"priorities are ignored":   {"priorities", with(func(o *addOptions) { o.Priority = 0 })},
	"windows are ignored":      {"windows", with(func(o *addOptions) { o.NotAgainWithin = 0 })},
	"windows are long":         {"windows", with(func(o *addOptions) { o.NotAgainWithin *= 4 })},
	"a limit is exceeded":      {"limits", changed(func(o *shardq.Options[int]) { o.GroupLimitOf = nil })},
	"a group's rate is faster": {"rates", changed(fasterGroups)},
	"the queue's rate is faster": {"rates", wrapped(func(s *spoiled) {
		s.setRate = func(r shardq.Rate) { r.PerSecond, r.Burst = 4*r.PerSecond, 4*r.Burst; s.target.SetRate(r) }
	})},
	"pauses are ignored": {"pauses", wrapped(func(s *spoiled) { s.pause = func() {} })},
	"a resume wakes nobody": {"no lost wake-up", wrapped(func(s *spoiled) {
		s.resume = func() {
			if !s.every(20) {
				s.target.Resume()
			}
		}
	})},
	"the capacity is one more": {"capacity", changed(func(o *shardq.Options[int]) { o.Capacity++ })},
	"the capacity is one less": {"capacity", changed(func(o *shardq.Options[int]) { o.Capacity = max(1, o.Capacity-1) })},
	"TryAdd ignores the capacity": {"capacity", wrapped(func(s *spoiled) {
		s.tryAdd = func(key int, o addOptions) error { s.target.AddWith(key, o); return nil }
	})},
	"TryAdd invents an error": {"capacity", wrapped(func(s *spoiled) {
		s.tryAdd = func(key int, o addOptions) error { return errors.Join(s.target.TryAdd(key, o), errInvented) }
	})},
	"a cancel only says so": {"cancel", wrapped(func(s *spoiled) {
		s.cancel = func(int) shardq.Canceled { return shardq.Canceled{Ready: true} }
	})},
	"a cancel is not told": {"", wrapped(func(s *spoiled) {
		s.cancel = func(key int) shardq.Canceled { s.target.Cancel(key); return shardq.Canceled{} }
	})},
	"failures are kept": {"retries", wrapped(func(s *spoiled) { s.forget = func(int) {} })},
	"a drain does not wait": {"drain", wrapped(func(s *spoiled) {
		s.withDrain = s.target.ShutDown
	})},
	"a drain forgets what it drops": {"no lost add", wrapped(func(s *spoiled) {
		s.drain = func(ctx context.Context, o shardq.DrainOptions) ([]int, error) {
			_, err := s.target.Drain(ctx, o)
			return nil, err
		}
	})},
	"a drain keeps delays": {"", wrapped(func(s *spoiled) {
		s.drain = func(ctx context.Context, o shardq.DrainOptions) ([]int, error) {
			o.Delayed = shardq.DropDelayed
			return s.target.Drain(ctx, o)
		}
	})},
	"a shutdown loses what is ready": {"", wrapped(func(s *spoiled) {
		s.shutDown = func() {
			for item := range s.target.All(stats.Ready) {
				s.target.Cancel(item.Item)
			}
			s.target.ShutDown()
		}
	})},
	"WaitIdle does not wait": {"", wrapped(func(s *spoiled) { s.waitIdle = func(context.Context) error { return nil } })},
	"a listing misses one": {"listings", wrapped(func(s *spoiled) {
		s.all = func(state stats.State) iter.Seq[stats.Item[int]] {
			all := slices.Collect(s.target.All(state))
			return slices.Values(all[min(1, len(all)):])
		}
	})},
	"a look-up finds nothing": {"listings", wrapped(func(s *spoiled) {
		s.lookup = func(int) (item stats.Item[int], ok bool) { return item, false }
	})},
	"misuse is not counted": {"conservation", wrapped(func(s *spoiled) {
		s.done = func(key int) {
			if key >= 0 {
				s.target.Done(key)
			}
		}
	})},
	"a panic is swallowed": {"panics", changed(func(o *shardq.Options[int]) {
		o.RateLimiter = o.RateLimiter.(hostileLimiter).Limiter
	})},
	"a pool discards in silence": {"", wrapped(func(s *spoiled) {
		s.newPool = func(o *worker.Options[int]) { o.OnDiscard = nil }
	})},
	"a shutdown leaves a goroutine": {"goroutines", wrapped(func(s *spoiled) {
		s.shutDown = func() { go func() { <-left }(); s.target.ShutDown() }
	})},
	"a watermark is told twice": {"watermarks", changed(func(o *shardq.Options[int]) {
		if on := o.OnWatermark; on != nil {
			o.OnWatermark = func(w shardq.Watermark) { on(w); on(w) }
		}
	})},
}

type shortLimiter struct{ hostileLimiter }

func (l shortLimiter) When(key int) time.Duration { return l.hostileLimiter.When(key) / 2 }

func fasterGroups(o *shardq.Options[int]) {
	if of := o.GroupRate; of != nil {
		o.GroupRate = func(group string) shardq.Rate {
			r := of(group)
			return shardq.Rate{PerSecond: 4 * r.PerSecond, Burst: 4 * r.Burst}
		}
	}
}

// TestSaboteursAreFound checks that one of several rounds finds each fault.
func TestSaboteursAreFound(t *testing.T) {
	defer close(left)
	for name, s := range saboteurs {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			for seed := range uint64(400) {
				_, err := play(Draw(seed, All&^blind), 500*time.Millisecond, s.saboteur)
				if err != nil && strings.Contains(err.Error(), s.word) {
					t.Logf("seed %d, after %v: %.300v", seed, time.Since(begun).Round(time.Millisecond), err)
					return
				}
			}
			t.Error("no round found the fault")
		})
	}
}

// TestPlanFollowsFromItsSeed checks that a seed gives one plan, and that a plan
// has only what is allowed.
func TestPlanFollowsFromItsSeed(t *testing.T) {
	for seed := range uint64(100) {
		require.Equal(t, Draw(seed, All), Draw(seed, All))
		require.Zero(t, Draw(seed, delays|claims).features&^(delays|claims))
	}
	for i, name := range strings.Split(Names(), ",") {
		f, err := Parse(name)
		require.NoError(t, err)
		require.Equal(t, Features(1)<<i, f)
	}
	_, err := Parse("nonsense")
	require.Error(t, err)
	require.Equal(t, ledger.Free, ledger.ClassOf(0))
}
