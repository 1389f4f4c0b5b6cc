package shard

import (
	"math"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
)

// checkMeasures checks that the measures of a shard agree with its entries.
func checkMeasures[T comparable](t failer, sh *shard[T]) {
	t.Helper()
	if sh.set.measures == nil {
		return
	}
	m, marks, dirties, begins := sh.measures(), int32(0), 0, uint64(0)
	if m == nil {
		return // nothing was ever added
	}
	for id := range idsOf(t, sh) {
		e := sh.table.at(id)
		cell := m.marked.Lookup(id)
		marked := cell != nil && *cell != 0
		if marked {
			marks++
		}
		switch phase := e.phase(); {
		case phase == dirty && !marked, (phase == processing || phase == idle) && marked:
			t.Fatalf("shard %d: item %v in phase %d has a mark: %v", sh.number, e.item, phase, marked)
		case phase == dirty || phase == processing:
			begins += sh.table.times.of(id)
		}
		if e.phase() == dirty {
			dirties++
		}
	}
	if marks != m.marks || dirties != m.dirty || begins != m.begins {
		t.Fatalf("shard %d: %d marks, %d dirty, begun at %d together, but the counts are %d, %d and %d",
			sh.number, marks, dirties, begins, m.marks, m.dirty, m.begins)
	}
}

// A measuredSet is one with metrics, on a fake clock.
type measuredSet struct {
	*testing.T
	*Set[string]
	clock *clock.Fake
}

func newMeasuredSet(t *testing.T) measuredSet {
	fake := clock.NewFake(start)
	return measuredSet{t, newTestSet(t, Config[string]{Clock: fake, Ages: true, Metrics: true}), fake}
}

func (s measuredSet) get(want string) {
	s.Helper()
	if item, shutdown := s.Get(); item != want || shutdown {
		s.Fatalf("Get returned %q, %v, not %q", item, shutdown, want)
	}
	checkSet(s, s.Set)
}

// queued checks the sum of the queue durations.
func (s measuredSet) queued(want time.Duration) {
	s.Helper()
	if got := s.Stats().Metrics.QueueDuration.Sum; got != want {
		s.Errorf("queued for %v, not %v", got, want)
	}
}

// TestC33MarkOfADirtyItem: the queue duration of an item that was added in
// processing begins with that add. Of several adds the first counts.
func TestC33MarkOfADirtyItem(t *testing.T) {
	s := newMeasuredSet(t)
	s.Add("a")
	s.get("a")
	s.clock.Step(time.Second)
	s.Add("a")
	s.clock.Step(time.Second)
	s.Add("a")
	s.clock.Step(time.Second)
	s.Done("a")
	checkSet(t, s.Set)
	s.clock.Step(time.Second)
	s.get("a")
	s.queued(3 * time.Second)
}

// TestC33CancelOfADirtyItem: the first add after the Cancel counts.
func TestC33CancelOfADirtyItem(t *testing.T) {
	s := newMeasuredSet(t)
	s.Add("a")
	s.get("a")
	s.Add("a")
	s.clock.Step(time.Second)
	if was := s.Cancel("a"); !was.Dirty {
		t.Fatalf("%+v", was)
	}
	checkSet(t, s.Set)
	s.clock.Step(time.Second)
	s.Add("a")
	s.Done("a")
	s.clock.Step(time.Second)
	s.get("a")
	s.queued(time.Second)
}

// TestC33CancelAfterADirtyDone: an item that was dirty, and is canceled once it
// is ready, leaves no mark, neither for itself nor for another item that gets
// its id.
func TestC33CancelAfterADirtyDone(t *testing.T) {
	for _, next := range []string{"a", "b"} {
		s := newMeasuredSet(t)
		s.Add("a")
		s.get("a")
		s.Add("a")
		s.Done("a")
		if was := s.Cancel("a"); !was.Ready {
			t.Fatalf("%+v", was)
		}
		checkSet(t, s.Set)
		s.clock.Step(time.Hour)
		s.Add(next)
		s.clock.Step(time.Second)
		s.get(next)
		s.queued(time.Second)
		if s.shard(0).measures().marks != 0 {
			t.Errorf("%d marks are left", s.shard(0).measures().marks)
		}
	}
}

// TestC33BeginsAddUp: the sum of the times in processing is right, whichever
// processing ends.
func TestC33BeginsAddUp(t *testing.T) {
	s := newMeasuredSet(t)
	for _, item := range []string{"a", "b", "c"} {
		s.Add(item)
		s.get(item)
		s.clock.Step(time.Second)
	}
	expect := func(together, longest time.Duration) {
		t.Helper()
		if m := s.Stats().Metrics; m.Unfinished != together || m.LongestRunning != longest {
			t.Errorf("unfinished for %v, the longest %v, not %v and %v", m.Unfinished, m.LongestRunning, together, longest)
		}
	}
	expect(6*time.Second, 3*time.Second)
	s.Done("b")
	expect(4*time.Second, 3*time.Second)
	s.Done("a")
	expect(time.Second, time.Second)
	s.Done("a") // misuse
	expect(time.Second, time.Second)
	s.clock.Step(-time.Hour)
	expect(0, 0)
	s.Done("c")
	expect(0, 0)
	if w := s.Stats().Metrics.WorkDuration; w.Count != 3 || w.Sum != 5*time.Second || w.AtMost(0) != 1 {
		t.Errorf("%+v", w)
	}
}

// TestC33HandedOutAfterTheReading: Stats or a shutdown has read the clock, and
// before it inspects the shard, an item is handed out with a later stamp. That
// item takes nothing off the time of the others.
func TestC33HandedOutAfterTheReading(t *testing.T) {
	for name, call := range map[string]func(s *Set[string]){
		"Stats": func(*Set[string]) {}, "ShutDown": (*Set[string]).ShutDown,
	} {
		t.Run(name, func(t *testing.T) {
			c := newMeddlingClock()
			s := newTestSet(t, Config[string]{Clock: c, Ages: true, Metrics: true})
			for _, item := range []string{"a", "b", "c"} {
				s.Add(item)
			}
			_, _ = s.Get()
			_, _ = s.Get()
			c.Step(10 * time.Second)
			c.at(afterNow, 1, func() {
				c.Step(4 * time.Second)
				_, _ = s.Get()
			})
			call(s)
			m := s.Stats().Metrics
			if m.Unfinished != 28*time.Second || m.LongestRunning != 14*time.Second {
				t.Errorf("unfinished for %v, the longest %v", m.Unfinished, m.LongestRunning)
			}
		})
	}
}

// TestC33DelayThatIsOverdue: a delay whose deadline passed during the call
// counts like others.
func TestC33DelayThatIsOverdue(t *testing.T) {
	c := newMeddlingClock()
	s := newTestSet(t, Config[string]{Clock: c, Ages: true, Metrics: true})
	s.AddAfter("first", time.Millisecond)
	c.at(afterNow, 1, func() { c.Step(time.Hour) }) // when AddAfter has just read the clock
	s.AddAfter("second", time.Millisecond)
	if st := s.Stats(); st.Expired != 2 || st.Metrics.Retries != 2 || st.Metrics.Delay.Count != 2 {
		t.Errorf("%d expired, %d retries, %d delays", st.Expired, st.Metrics.Retries, st.Metrics.Delay.Count)
	}
	s.ShutDown()
}

// TestC34WithoutMetricsNothingIsKept: no shard has measures, and nothing is
// recorded.
func TestC34WithoutMetricsNothingIsKept(t *testing.T) {
	fake := clock.NewFake(start)
	for _, ages := range []bool{false, true} {
		s := newTestSet(t, Config[string]{Shards: 4, Clock: fake, Ages: ages})
		s.Add("a")
		s.AddAfter("b", time.Hour)
		s.CountBackoff()
		_, _ = s.Get()
		s.Add("a")
		s.Done("a")
		s.Cancel("a")
		s.ShutDown()
		if s.measures != nil || s.Stats().Metrics != nil || s.inFlightAtEnd.Load() != nil {
			t.Errorf("with ages %v: measures %v", ages, s.measures)
		}
		for i := range s.lanes {
			if s.lanes[i].retries.Load()+s.lanes[i].backoffs.Load() > 0 {
				t.Error("retries were counted")
			}
		}
	}
}

// TestC34MeasuresAreSmall: the size of a shard's measures, before and after the
// first items.
func TestC34MeasuresAreSmall(t *testing.T) {
	fake := clock.NewFake(start)
	config := Config[string]{Shards: 16, Clock: fake, Tick: time.Millisecond, Ages: true}
	without := allocated(func() { newSink = New(config) })
	config.Metrics = true
	with := allocated(func() { newSink = New(config) })
	if most := uint64(16 * 128); with-without > most {
		t.Errorf("the measures of 16 shards take %d bytes, more than %d", with-without, most)
	}
	s := newTestSet(t, config)
	used := allocated(func() {
		for i := range s.measures {
			s.measures[i] = &measures{}
			s.measures[i].queue.Record(0, uint64(time.Second))
			s.measures[i].work.Record(0, uint64(time.Second))
		}
	})
	if most := uint64(16 * 1500); used > most {
		t.Errorf("the recorders of 16 shards take %d bytes, more than %d", used, most)
	}
}

// TestC34SteadyStateAllocatesNothing: also where items are dirty, delayed, and
// canceled.
func TestC34SteadyStateAllocatesNothing(t *testing.T) {
	if underRace {
		t.Skip("the race detector allocates")
	}
	fake := clock.NewFake(start)
	s := newTestSet(t, Config[string]{Shards: 4, Clock: fake, Ages: true, Metrics: true})
	items := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	cycle := func() {
		for _, item := range items {
			s.Add(item)
			got, _ := s.Get()
			fake.Step(time.Microsecond)
			s.Add(got)
			s.Done(got)
			got, _ = s.Get()
			s.Done(got)
			s.AddAfter(item, time.Second)
			s.Cancel(item)
		}
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestC33UnfinishedDoesNotOverflow: a million items in processing for some
// hours are more nanoseconds than a duration holds. The sum is then the longest
// duration, and not negative.
func TestC33UnfinishedDoesNotOverflow(t *testing.T) {
	const years = 365 * 24 * time.Hour
	for _, shards := range []int{1, 2} {
		fake := clock.NewFake(start)
		s := newTestSet(t, Config[int]{Shards: shards, Clock: fake, Ages: true, Metrics: true, Route: parity})
		for item := range 2 {
			s.Add(item)
			_, _ = s.Get()
		}
		fake.Step(140 * years)
		if got := s.Stats().Metrics.Unfinished; got != 280*years {
			t.Errorf("2 items for 140 years are %v", got)
		}
		fake.Step(10 * years)
		if got := s.Stats().Metrics.Unfinished; got != math.MaxInt64 {
			t.Errorf("2 items for 150 years are %v", got)
		}
		s.ShutDown()
		if got := s.Stats().Metrics.Unfinished; got != math.MaxInt64 {
			t.Errorf("2 items for 150 years are %v after a shutdown", got)
		}
	}
}
