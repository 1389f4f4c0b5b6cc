package shard

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// A volley is many exchanges of items in one round, from producers to consumers who
// have just come back for more and are about to sleep. The window of a lost wake-up is
// a few nanoseconds wide, and exchanges are cheaper than rounds.
type volley struct {
	*Set[int]
	producers, consumers int
	gotten, sent         atomic.Int64
}

const exchanges = 20

// over returns whether the items of an exchange, and of those before, are gotten.
func (v *volley) over(exchange int) func() bool {
	return func() bool { return v.gotten.Load() >= int64((exchange+1)*v.consumers) }
}

// produce adds, in each exchange, this producer's share of an item for each consumer.
// It gives up if they are not gotten: another item might wake who sleeps beside one.
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

// consume gets one item in each exchange, and leaves the others to the others.
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
	case asleep > 0 && v.Len() > 0:
		return "a consumer sleeps beside an item"
	case asleep > 0 || v.Len() > 0:
		return "somebody gave up waiting for the others"
	}
	return "all items are gotten"
}

// TestLitmusPark: consumers go to sleep while producers add, and none sleeps for good
// beside an item (C4). With two consumers, one of the two wake-ups that are needed may be
// left to the searcher's last look. No producer sleeps, ever.
func TestLitmusPark(t *testing.T) {
	for _, shards := range []int{1, 4} {
		for _, crowd := range []struct{ producers, consumers int }{{1, 1}, {1, 2}, {2, 2}} {
			t.Run(fmt.Sprintf("shards=%d/%d to %d", shards, crowd.producers, crowd.consumers), func(t *testing.T) {
				litmusPark(t, shards, crowd.producers, crowd.consumers)
			})
		}
	}
}

func litmusPark(t *testing.T, shards, producers, consumers int) {
	set := lasting(t, Config[int]{Shards: shards})
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
				v.ShutDown()
			}
		},
		outcomes: verdicts{
			"all items are gotten":                    allowed,
			"somebody gave up waiting for the others": certain,
			"a consumer sleeps beside an item":        forbidden,
			"a producer sleeps":                       forbidden,
		},
	}.run(t)
}

// TestLitmusToken: two send the token at once, and there is one: neither sleeps at the
// full channel.
func TestLitmusToken(t *testing.T) {
	set := lasting(t, Config[int]{})
	send := func(s *Set[int]) {
		for range 10 * exchanges {
			s.sendToken()
		}
	}
	litmus[*Set[int]]{
		rounds: 100_000,
		world:  set,
		actors: []func(s *Set[int]){send, send, func(s *Set[int]) {
			for range 10 * exchanges {
				select {
				case <-s.lot.token:
					s.lot.searching.Store(false)
				default:
				}
			}
		}},
		outcome: func(s *Set[int], asleep int) string { return fmt.Sprintf("%d sleep", asleep) },
		after: func(s *Set[int]) {
			for s.lot.searching.Swap(false) {
				<-s.lot.token
			}
		},
		outcomes: verdicts{
			"0 sleep": certain,
		},
	}.run(t)
}

// A waitingRoom has two sleepers, one of whom gives up.
type waitingRoom struct {
	*Set[int]
	ctx    context.Context
	cancel context.CancelFunc
	// full is how many sleepers to wait for before something happens.
	full int32
	// hasty says that one gives up right behind what happens first, before who was
	// woken can run.
	hasty bool

	left      bool  // the one who gives up has returned, with
	impatient error // this
	taken     int   // by a GetBatch of the one who gives up
	stayed    bool  // the other has returned, and was
	shutdown  bool  // told so
}

func newWaitingRoom(s *Set[int], round, sleepers int) *waitingRoom {
	w := &waitingRoom{Set: s, full: int32(round % 2 * sleepers), hasty: round%4 == 3}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// when lets something happen, in every other round to those who sleep by then.
func when(happen func(w *waitingRoom)) func(w *waitingRoom) {
	return func(w *waitingRoom) {
		soon(func() bool { return w.lot.parked.Load() >= w.full })
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
	_, w.impatient = w.GetContext(w.ctx)
	w.left = true
}

func (w *waitingRoom) waitForBatch() {
	var dst [3]int
	w.taken, w.impatient = w.GetBatch(w.ctx, dst[:])
	w.left = true
}

func (w *waitingRoom) stay() {
	_, w.shutdown = w.Get()
	w.stayed = true
}

// TestLitmusCancel: an item comes while one of two sleepers gives up. It has the item,
// or the other has: the wake-up does not go with the one who leaves (C4, C35).
func TestLitmusCancel(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) { litmusCancel(t, shards) })
	}
}

func litmusCancel(t *testing.T, shards int) {
	set := lasting(t, Config[int]{Shards: shards})
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
				return "the one who gives up sleeps on"
			case w.stayed && w.impatient != nil:
				return "the one who stays has the item"
			case !w.stayed && w.impatient == nil:
				return "the one who gives up has the item, the other sleeps"
			}
			return fmt.Sprintf("%d sleep, %d items are ready", asleep, w.Len())
		},
		after: func(w *waitingRoom) {
			w.Done(1)
			if !w.stayed {
				w.ShutDown()
			}
		},
		outcomes: verdicts{
			"the one who stays has the item":                      certain,
			"the one who gives up has the item, the other sleeps": certain,
			"1 sleep, 1 items are ready":                          forbidden,
		},
	}.run(t)
}

// TestLitmusCancelAgainstAdd: an item comes while the only sleeper gives up. It has the
// item, or leaves it to the next (C35).
func TestLitmusCancelAgainstAdd(t *testing.T) {
	set := lasting(t, Config[int]{Shards: 2})
	litmus[*waitingRoom]{
		rounds: 50_000,
		world:  func(round int) *waitingRoom { return newWaitingRoom(set(round), round, 1) },
		actors: []func(w *waitingRoom){
			when(func(w *waitingRoom) { w.Add(1) }),
			when((*waitingRoom).giveUp),
			(*waitingRoom).wait,
		},
		outcome: func(w *waitingRoom, asleep int) string {
			stats := w.Stats()
			return fmt.Sprintf("%d sleep, %d ready, %d processing: %v", asleep, stats.Ready, stats.Processing, w.impatient)
		},
		after: func(w *waitingRoom) { w.Done(1); finish(w.Set) },
		outcomes: verdicts{
			"0 sleep, 0 ready, 1 processing: <nil>":            certain,
			"0 sleep, 1 ready, 0 processing: context canceled": certain,
		},
	}.run(t)
}

// TestLitmusBatchCancelAgainstAdd: a batch comes while the only sleeper gives up. It has the
// batch, or as much as was there when it looked, or leaves it to the next (C37).
func TestLitmusBatchCancelAgainstAdd(t *testing.T) {
	set := lasting(t, Config[int]{Shards: 2, Route: parity})
	litmus[*waitingRoom]{
		rounds: 50_000,
		world:  func(round int) *waitingRoom { return newWaitingRoom(set(round), round, 1) },
		actors: []func(w *waitingRoom){
			when(func(w *waitingRoom) { w.AddBatch([]int{0, 1}) }),
			when((*waitingRoom).giveUp),
			(*waitingRoom).waitForBatch,
		},
		outcome: func(w *waitingRoom, asleep int) string {
			stats := w.Stats()
			return fmt.Sprintf("%d sleep, %d taken, %d ready, %d processing: %v",
				asleep, w.taken, stats.Ready, stats.Processing, w.impatient)
		},
		after: func(w *waitingRoom) { w.Done(0); w.Done(1); finish(w.Set) },
		outcomes: verdicts{
			"0 sleep, 2 taken, 0 ready, 2 processing: <nil>":            certain,
			"0 sleep, 1 taken, 1 ready, 1 processing: <nil>":            allowed,
			"0 sleep, 0 taken, 2 ready, 0 processing: context canceled": certain,
		},
	}.run(t)
}

// TestLitmusCancelAgainstShutDown: one of two sleepers gives up while the queue is shut
// down, which wakes the sleepers one by one. The other is told, too.
func TestLitmusCancelAgainstShutDown(t *testing.T) {
	litmus[*waitingRoom]{
		rounds: 50_000,
		world: func(round int) *waitingRoom {
			return newWaitingRoom(newTestSet(t, Config[int]{Shards: 1 + round%2}), round, 2)
		},
		actors: []func(w *waitingRoom){
			when(func(w *waitingRoom) { w.ShutDown() }),
			when((*waitingRoom).giveUp),
			(*waitingRoom).wait,
			(*waitingRoom).stay,
		},
		outcome: func(w *waitingRoom, asleep int) string {
			return fmt.Sprintf("%d sleep, told %v: %v", asleep, w.shutdown, w.impatient)
		},
		after: func(w *waitingRoom) { rouse(w.Set) },
		outcomes: verdicts{
			"0 sleep, told true: shardq: queue is shut down": certain,
			"0 sleep, told true: context canceled":           certain,
			"1 sleep, told false: context canceled":          forbidden,
		},
	}.run(t)
}

// rouse wakes who sleeps beside an item, or in a set that is shut down, though something
// went wrong: if the token got lost, it makes another.
func rouse(s *Set[int]) {
	for n := 0; n < 1000 && s.lot.parked.Load() > 0; n++ {
		s.lot.searching.Store(true)
		select {
		case s.lot.token <- struct{}{}:
		default:
		}
		runtime.Gosched()
	}
}

// TestLitmusGetAgainstShutDown: consumers go to sleep while the queue is shut down, and
// every one is told (C10).
func TestLitmusGetAgainstShutDown(t *testing.T) {
	get := func(s *Set[int]) {
		if _, shutdown := s.Get(); !shutdown {
			panic("an item out of nothing")
		}
	}
	litmus[*Set[int]]{
		rounds:  50_000,
		world:   func(round int) *Set[int] { return newTestSet(t, Config[int]{Shards: 1 + round%2}) },
		actors:  []func(s *Set[int]){(*Set[int]).ShutDown, get, get},
		outcome: func(s *Set[int], asleep int) string { return fmt.Sprintf("%d sleep", asleep) },
		after:   rouse,
		outcomes: verdicts{
			"0 sleep": certain,
		},
	}.run(t)
}

// TestLitmusDirtyAgainstGet: the Done of a dirty item comes while a consumer goes to
// sleep, who is woken for it (C4).
func TestLitmusDirtyAgainstGet(t *testing.T) {
	set := lasting(t, Config[int]{Shards: 2})
	litmus[*Set[int]]{
		rounds: 50_000,
		world: func(round int) *Set[int] {
			s := set(round)
			s.Add(1)
			s.TryTake()
			s.Add(1)
			return s
		},
		actors: []func(s *Set[int]){
			func(s *Set[int]) { s.Done(1) },
			func(s *Set[int]) { s.Get() },
		},
		outcome: func(s *Set[int], asleep int) string { return fmt.Sprintf("%d sleep, %d ready", asleep, s.Len()) },
		after:   func(s *Set[int]) { rouse(s); s.Done(1) },
		outcomes: verdicts{
			"0 sleep, 0 ready": certain,
			"1 sleep, 1 ready": forbidden,
		},
	}.run(t)
}

// bitsOf returns which shards have their ready bits, and which should.
func bitsOf(s *Set[int]) (are, should string) {
	for i := range s.shards {
		are += fmt.Sprint(s.readyWord(i/wordBits) >> (i % wordBits) & 1)
		should += fmt.Sprint(min(s.shard(i).ready.fifo.length, 1))
	}
	return are, should
}

// TestLitmusReadyBits: the last item of a shard is taken while one comes to the same
// shard, and one to another. Bits and items agree (readybits.go).
func TestLitmusReadyBits(t *testing.T) {
	set := lasting(t, Config[int]{Shards: 2, Route: parity})
	litmus[*Set[int]]{
		rounds: 100_000,
		world: func(round int) *Set[int] {
			s := set(round)
			s.Add(0)
			return s
		},
		actors: []func(s *Set[int]){
			func(s *Set[int]) { finish(s) },
			func(s *Set[int]) { s.Add(2) },
			func(s *Set[int]) { s.Add(1) },
		},
		outcome: func(s *Set[int], _ int) string {
			are, should := bitsOf(s)
			return fmt.Sprintf("bits %s, items %s", are, should)
		},
		after: func(s *Set[int]) { drainAll(s) },
		outcomes: verdicts{
			"bits 00, items 00": certain,
			"bits 01, items 01": certain,
			"bits 10, items 10": certain,
			"bits 11, items 11": certain,
		},
	}.run(t)
}

// TestLitmusReadyBitsOfTwo: the bits of two shards are in one word, and each shard changes
// its own alone.
func TestLitmusReadyBitsOfTwo(t *testing.T) {
	set := lasting(t, Config[int]{Shards: 2, Route: parity})
	var wrong atomic.Int32
	cycle := func(item uint32) func(s *Set[int]) {
		return func(s *Set[int]) {
			for range 5 * exchanges {
				s.Add(int(item))
				if s.readyWord(0)>>item&1 == 0 {
					wrong.Add(1)
				}
				s.shard(int(item)).mu.Lock()
				s.shard(int(item)).take(&s.shard(int(item)).ready, false)
				s.shard(int(item)).mu.Unlock()
				if s.readyWord(0)>>item&1 == 1 {
					wrong.Add(1)
				}
				s.Done(int(item))
			}
		}
	}
	litmus[*Set[int]]{
		rounds:   50_000,
		world:    set,
		actors:   []func(s *Set[int]){cycle(0), cycle(1)},
		outcome:  func(s *Set[int], _ int) string { return fmt.Sprintf("%d times wrong", wrong.Swap(0)) },
		outcomes: verdicts{"0 times wrong": certain},
	}.run(t)
}

// drainAll takes what is ready out of every shard, whatever its bit says.
func drainAll(s *Set[int]) {
	for i := range s.shards {
		for sh := s.shard(i); sh.length() > 0; {
			sh.mu.Lock()
			item, _, _, _ := sh.take(&sh.ready, false)
			sh.mu.Unlock()
			s.Done(item)
		}
	}
}

// TestLitmusHandOut: as many consumers look as there are items. Each finds one, though
// they meet at a shard's lock, or find that shard empty: none is told that nothing is
// ready while something is. (After a shutdown it would leave for good: C10.)
func TestLitmusHandOut(t *testing.T) {
	for name, items := range map[string][]int{"one shard": {0, 2, 4}, "two shards": {0, 1, 3}} {
		t.Run(name, func(t *testing.T) {
			set := lasting(t, Config[int]{Shards: 2, Route: parity})
			look := func(s *Set[int]) { s.TryTake() }
			litmus[*Set[int]]{
				rounds: 100_000,
				world: func(round int) *Set[int] {
					s := set(round)
					for _, item := range items {
						s.Add(item)
					}
					return s
				},
				actors: []func(s *Set[int]){look, look, look},
				outcome: func(s *Set[int], _ int) string {
					stats := s.Stats()
					return fmt.Sprintf("%d processing, %d ready", stats.Processing, stats.Ready)
				},
				after: func(s *Set[int]) {
					finish(s)
					for _, item := range items {
						s.Done(item)
					}
				},
				outcomes: verdicts{
					"3 processing, 0 ready": certain,
					"2 processing, 1 ready": forbidden,
				},
			}.run(t)
		})
	}
}
