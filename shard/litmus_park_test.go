package shard

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// A volley is many exchanges of items in one round, from producers to consumers
// that have just come back for more and are about to park. The window of a lost
// wake-up is a few nanoseconds wide, and exchanges are cheaper than rounds.
type volley struct {
	*Set[int]
	producers, consumers int
	gotten, sent         atomic.Int64
}

const exchanges = 20

// over returns whether the items of an exchange, and of those before, were
// taken.
func (v *volley) over(exchange int) func() bool {
	return func() bool { return v.gotten.Load() >= int64((exchange+1)*v.consumers) }
}

// produce adds, in each exchange, this producer's share of an item for each
// consumer. It gives up if they are not taken: another item might wake a
// consumer that is parked beside one.
func (v *volley) produce(number int) {
	defer v.sent.Add(1)
	for exchange := range exchanges {
		for i := number; i < v.consumers; i += v.producers {
			hesitate(uint32(i + exchange*v.consumers))
			v.Add(i + exchange*v.consumers)
		}
		if !soon(v.over(exchange)) {
			return
		}
	}
}

// consume gets one item in each exchange, and leaves the others to the other
// consumers.
func (v *volley) consume() {
	for exchange := range exchanges {
		item, shutdown := v.Get()
		if shutdown {
			return
		}
		v.Done(item)
		v.gotten.Add(1)
		if !soon(v.over(exchange)) {
			return
		}
	}
}

func (v *volley) outcome(asleep int) string {
	switch {
	case v.sent.Load() < int64(v.producers):
		return "a producer sleeps"
	case asleep > 0 && v.Core.Len() > 0:
		return "a consumer is parked beside an item"
	case asleep > 0 || v.Core.Len() > 0:
		return "a wait for the others was given up"
	}
	return "all items are gotten"
}

// TestLitmusPark: consumers park while producers add, and none stays parked
// beside an item (C4). With two consumers, one of the two wake-ups that are
// needed may be left to the searching consumer's last check. No producer ever
// blocks.
func TestLitmusPark(t *testing.T) {
	for _, shards := range []int{1, 4} {
		for _, load := range []struct{ producers, consumers int }{{1, 1}, {1, 2}, {2, 2}} {
			t.Run(fmt.Sprintf("shards=%d/%d to %d", shards, load.producers, load.consumers), func(t *testing.T) {
				litmusPark(t, shards, load.producers, load.consumers)
			})
		}
	}
}

func litmusPark(t *testing.T, shards, producers, consumers int) {
	set := lasting(t, Config[int]{Settings: Settings{Shards: shards}})
	actors := []func(v *volley){}
	for number := range producers {
		actors = append(actors, func(v *volley) { v.produce(number) })
	}
	for range consumers {
		actors = append(actors, (*volley).consume)
	}
	litmus[*volley]{
		rounds: 20_000,
		world: func(round int) *volley {
			return &volley{Set: set(round), producers: producers, consumers: consumers}
		},
		actors:  actors,
		outcome: (*volley).outcome,
		after: func(v *volley) {
			if v.gotten.Load() < exchanges*int64(consumers) {
				v.Core.ShutDown()
			}
		},
		outcomes: verdicts{
			"all items are gotten":                allowed,
			"a wait for the others was given up":  certain,
			"a consumer is parked beside an item": forbidden,
			"a producer sleeps":                   forbidden,
		},
	}.run(t)
}

// A waitingRoom has two parked consumers, one of which gives up.
type waitingRoom struct {
	*Set[int]
	ctx    context.Context
	cancel context.CancelFunc
	// full is the number of parked consumers to wait for before something
	// happens.
	full int32
	// hasty makes one give up right after what happens first, before a woken
	// consumer can run.
	hasty bool

	left      bool  // the one that gives up has returned, with
	impatient error // this
	stayed    bool  // the other has returned, and was
	shutdown  bool  // shut down
}

func newWaitingRoom(s *Set[int], round, parked int) *waitingRoom {
	w := &waitingRoom{Set: s, full: int32(round % 2 * parked), hasty: round%4 == 3}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// when lets something happen, in every other round only after the consumers
// have parked.
func when(happen func(w *waitingRoom)) func(w *waitingRoom) {
	return func(w *waitingRoom) {
		soon(func() bool { return w.Core.parker.Parked() >= int(w.full) })
		happen(w)
		if w.hasty {
			w.cancel()
		}
	}
}

func (w *waitingRoom) giveUp() {
	if !w.hasty {
		w.cancel()
	}
}

func (w *waitingRoom) wait() {
	_, _, _, w.impatient = w.Take(w.ctx)
	w.left = true
}

func (w *waitingRoom) stay() {
	_, w.shutdown = w.Get()
	w.stayed = true
}

// TestLitmusCancel: an item comes while one of two parked consumers gives up.
// One of the two has the item: the wake-up does not leave with the one that
// gives up (C4, C35).
func TestLitmusCancel(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) { litmusCancel(t, shards) })
	}
}

func litmusCancel(t *testing.T, shards int) {
	set := lasting(t, Config[int]{Settings: Settings{Shards: shards}})
	litmus[*waitingRoom]{
		rounds: 50_000,
		world:  func(round int) *waitingRoom { return newWaitingRoom(set(round), round, 2) },
		actors: []func(w *waitingRoom){
			when(func(w *waitingRoom) { w.Add(1) }),
			when((*waitingRoom).giveUp),
			(*waitingRoom).wait,
			(*waitingRoom).stay,
		},
		outcome: func(w *waitingRoom, asleep int) string {
			switch {
			case !w.left:
				return "the one that gives up sleeps on"
			case w.stayed && w.impatient != nil:
				return "the one that stays has the item"
			case !w.stayed && w.impatient == nil:
				return "the one that gives up has the item, the other sleeps"
			}
			return fmt.Sprintf("%d blocked, %d items are ready", asleep, w.Core.Len())
		},
		after: func(w *waitingRoom) {
			w.Done(1)
			if !w.stayed {
				w.Core.ShutDown()
			}
		},
		outcomes: verdicts{
			"the one that stays has the item":                      certain,
			"the one that gives up has the item, the other sleeps": certain,
			"1 blocked, 1 items are ready":                         forbidden,
		},
	}.run(t)
}

// rouse wakes consumers that are parked beside an item, or in a set that is
// shut down. If the token got lost, it makes another.
func rouse(s *Set[int]) {
	for n := 0; n < 1000 && s.Core.parker.Parked() > 0; n++ {
		s.Core.passOn()
		runtime.Gosched()
	}
}

// TestLitmusGetAgainstShutDown: consumers park while the queue is shut down,
// and every one returns (C10).
func TestLitmusGetAgainstShutDown(t *testing.T) {
	get := func(s *Set[int]) {
		if _, shutdown := s.Get(); !shutdown {
			panic("an item out of nothing")
		}
	}
	litmus[*Set[int]]{
		rounds:  50_000,
		world:   func(round int) *Set[int] { return newTestSet(t, Config[int]{Settings: Settings{Shards: 1 + round%2}}) },
		actors:  []func(s *Set[int]){func(s *Set[int]) { s.Core.ShutDown() }, get, get},
		outcome: func(s *Set[int], asleep int) string { return fmt.Sprintf("%d blocked", asleep) },
		after:   rouse,
		outcomes: verdicts{
			"0 blocked": certain,
		},
	}.run(t)
}
