package shard

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/internal/testscale"
)

// A litmus is a race that is run over and over. In each round the actors meet
// in a world, and the result is compared with a table. There are four ways to
// play a round:
//
//   - in turn, in every order of the actors: these outcomes are certain;
//   - held up, also in every order: the actors queue for the shards' locks,
//     which then go straight from one to the next, so that each stops at the
//     end of a critical section until the others had theirs (a mutex that has
//     let a goroutine starve for a millisecond is handed over: package sync);
//   - overtaken, also in every order: the first stops before a critical section
//     until the others have ended;
//   - together: they begin within nanoseconds of each other, on two processors,
//     each after a pause that differs from round to round, so that every part
//     of one meets every part of the other at random.
//
// All of it happens in a synctest bubble. A round therefore ends when every
// actor has ended or is blocked for good, and a lost wake-up is an outcome like
// any other, seen at once.
type litmus[W world] struct {
	// rounds limits the rounds that are played together: see rounds and watch.
	rounds int
	// world makes the world of a round. It may return the same one again.
	world func(round int) W
	// actors run once in a round. If the first is blocked for good, the bubble
	// panics.
	actors []func(w W)
	// outcome describes the world. asleep is the number of blocked actors.
	outcome func(w W, asleep int) string
	// after wakes blocked actors, and clears up. It may be nil.
	after func(w W)
	// outcomes are the possible ones. Others are forbidden.
	outcomes verdicts
}

// A locker is a lock, of any of the types that a shard's lock may have.
type locker interface {
	sync.Locker
	TryLock() bool
}

// A world has a set in it.
type world interface{ mutexes() []locker }

// mutexes returns the locks of all shards.
func (s *Set[T]) mutexes() (all []locker) {
	for i := range s.Core.shards.all {
		all = append(all, shardLock{s.Core.shard(i)})
	}
	return all
}

type verdicts map[string]verdict

type verdict string

const (
	// certain: some order of the actors in turn leads there. A test that does
	// not see it does not try what it intends to try.
	certain verdict = "certain"
	// allowed: it is possible.
	allowed verdict = "allowed"
	// forbidden: it must not happen. The table need not have it, but may, for
	// the reader.
	forbidden verdict = "forbidden"
)

// run plays the rounds, and fails the test at the first outcome that is
// forbidden.
func (l litmus[W]) run(t *testing.T) {
	t.Helper()
	n, watch := rounds(t, l.rounds), newWatch(t)
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		g := &game[W]{litmus: l, t: t, stage: newStage(l.actors, watch), seen: histogram{}}
		defer g.stage.close()
		orders := permutations(len(l.actors))
		for _, order := range orders {
			g.playTwice("in turn", func(w W) { g.stage.playInTurn(w, order) })
		}
		processors := runtime.GOMAXPROCS(1)
		for _, order := range orders {
			for ahead := range mostAhead(len(order)) {
				g.playTwice("held up", func(w W) { g.stage.playHeldUp(w, order, ahead) })
				g.playTwice("overtaken", func(w W) { g.stage.playOvertaken(w, order, ahead) })
			}
		}
		runtime.GOMAXPROCS(processors)
		for inTime := watch.budget(); g.round < n && inTime(); {
			g.play("together", g.stage.playTogether)
		}
		if missing := l.outcomes.missing(g.seen); len(missing) > 0 {
			t.Errorf("never seen: %q\n%v", missing, g.seen)
		}
		t.Logf("\n%v", g.seen)
	})
}

// A game is a run of a litmus.
type game[W world] struct {
	litmus[W]
	t     *testing.T
	stage *stage[W]
	round int
	seen  histogram
}

// mostAhead bounds how many critical sections one actor is ahead of the others.
// With four actors there are too many orders.
func mostAhead(actors int) int {
	if actors > 3 {
		return 0
	}
	return 6 / actors
}

// playTwice plays two rounds, for worlds that alternate.
func (g *game[W]) playTwice(how string, round func(w W)) {
	g.t.Helper()
	g.play(how, round)
	g.play(how, round)
}

// play plays a round, and judges it.
func (g *game[W]) play(how string, round func(w W)) {
	g.t.Helper()
	w := g.world(g.round)
	g.round++
	round(w)
	asleep := g.stage.asleep()
	outcome := g.outcome(w, asleep)
	g.seen[outcome]++
	if g.after != nil {
		g.after(w)
	}
	if asleep > 0 {
		synctest.Wait()
	}
	if g.outcomes.forbid(outcome) {
		g.t.Fatalf("round %d, %s: forbidden outcome: %s\n%v", g.round, how, outcome, g.seen)
	}
}

// A watch shows real time in a bubble, where package time does not.
type watch struct{ milliseconds atomic.Int64 }

// newWatch must be called outside of the bubble.
func newWatch(t *testing.T) *watch {
	w := &watch{}
	ticker := time.NewTicker(time.Millisecond)
	stop := make(chan struct{})
	var stopped sync.WaitGroup
	stopped.Go(func() {
		for {
			select {
			case <-ticker.C:
				w.milliseconds.Add(1)
			case <-stop:
				return
			}
		}
	})
	t.Cleanup(func() { ticker.Stop(); close(stop); stopped.Wait() })
	return w
}

// wait lets at least a millisecond pass.
func (w *watch) wait() {
	for end := w.milliseconds.Load() + 2; w.milliseconds.Load() < end; {
		runtime.Gosched()
	}
}

// budget returns a function that reports whether there is time for more rounds.
// On a busy machine there are fewer.
func (w *watch) budget() func() bool {
	end := w.milliseconds.Load() + 100
	if !testing.Short() && !underRace {
		end = w.milliseconds.Load() + max(100, int64(testscale.N(400)))
	}
	return func() bool { return w.milliseconds.Load() < end }
}

func (v verdicts) forbid(outcome string) bool {
	ruling, known := v[outcome]
	return !known || ruling == forbidden
}

// missing returns the outcomes that should have been seen, and were not.
func (v verdicts) missing(seen histogram) (missing []string) {
	for outcome, ruling := range v {
		if ruling == certain && seen[outcome] == 0 {
			missing = append(missing, outcome)
		}
	}
	return missing
}

// A histogram counts outcomes.
type histogram map[string]int

func (h histogram) String() string {
	var b strings.Builder
	for _, outcome := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintf(&b, "%9d × %s\n", h[outcome], outcome)
	}
	return b.String()
}

// A stage has the actors. The goroutine of the test plays the first, so that
// two actors are two goroutines. Each of the others has one goroutine for all
// rounds.
type stage[W world] struct {
	actors []func(w W)
	watch  *watch
	cues   []cue
	world  W
	round  int64
	// together reports whether the actors of this round begin at once.
	together bool
	// ready counts the actors of this round that are ready to begin.
	ready atomic.Int32
	// rest lets actors block that wait for their cue.
	rest atomic.Bool
	mu   sync.Mutex
	cued sync.Cond // on mu: a cue was given
	left sync.WaitGroup
}

// A cue lets one actor begin, and reports when it has ended.
type cue struct {
	given, ended atomic.Int64 // the number of the round
	_            cacheLine
}

// home is the round in which the actors leave.
const home = -1

func newStage[W world](actors []func(w W), watch *watch) *stage[W] {
	s := &stage[W]{actors: actors, watch: watch, cues: make([]cue, len(actors))}
	s.cued.L = &s.mu
	for i := 1; i < len(actors); i++ {
		s.left.Go(func() { s.perform(i) })
	}
	return s
}

// close ends the actors. None may be blocked.
func (s *stage[W]) close() {
	s.round = home
	for i := 1; i < len(s.actors); i++ {
		s.give(i)
	}
	s.left.Wait()
}

// playTogether lets all begin at once, and returns when each has ended or is
// blocked.
func (s *stage[W]) playTogether(w W) {
	s.begin(w, true)
	for i := 1; i < len(s.actors); i++ {
		s.give(i)
	}
	s.act(0)
	if !soon(func() bool { return s.asleep() == 0 }) {
		s.rest.Store(true) // let the others sleep, too
		synctest.Wait()
	}
}

// playInTurn lets each begin when the one before it has ended or is blocked.
func (s *stage[W]) playInTurn(w W, order []int) {
	s.begin(w, false)
	for _, i := range order {
		if i == 0 {
			s.act(0)
		} else {
			s.give(i)
		}
		synctest.Wait()
	}
}

// playHeldUp lets them begin while all locks are held, the first of them some
// critical sections ahead of the others, and then hands the locks over from one
// to the next.
func (s *stage[W]) playHeldUp(w W, order []int, ahead int) {
	locks := s.hold(w, order[0], ahead)
	for _, i := range order[1:] {
		s.start(i)
		makeRoom() // it queues for a lock, or comes as far as it can
	}
	s.handOver(locks)
	synctest.Wait()
}

// playOvertaken lets the first begin as in playHeldUp, and the others when the
// locks are free again, but before the first can run.
func (s *stage[W]) playOvertaken(w W, order []int, ahead int) {
	locks := s.hold(w, order[0], ahead)
	for _, lock := range locks {
		lock.Unlock()
	}
	for _, i := range order[1:] {
		s.start(i)
	}
	synctest.Wait()
}

// hold takes all locks, and lets actor i begin and pass some of them.
func (s *stage[W]) hold(w W, i, ahead int) (locks []locker) {
	s.begin(w, false)
	locks = w.mutexes()
	for _, lock := range locks {
		lock.Lock()
	}
	s.start(i)
	makeRoom()
	for range ahead {
		s.stepOn(locks)
	}
	return locks
}

// start lets actor i begin, on a goroutine that is not the test's.
func (s *stage[W]) start(i int) {
	if i == 0 {
		s.left.Go(func() { s.act(0) })
	} else {
		s.give(i)
	}
}

// stepOn lets a goroutine that waits for one of the locks have it, once.
// Another goroutine queues behind it and takes the lock back.
func (s *stage[W]) stepOn(locks []locker) {
	var back sync.WaitGroup
	for _, lock := range locks {
		back.Go(lock.Lock)
	}
	makeRoom()
	s.handOver(locks)
	back.Wait()
}

// handOver unlocks the locks, in such a way that each goes through its queue at
// once.
func (s *stage[W]) handOver(locks []locker) {
	s.watch.wait() // so that a goroutine starves
	var again []locker
	for _, lock := range locks {
		lock.Unlock()
		if lock.TryLock() { // before the first in the queue, which then starves
			again = append(again, lock)
		}
	}
	makeRoom()
	for _, lock := range again {
		lock.Unlock()
	}
	makeRoom()
}

// makeRoom lets all others run that can, if there is one processor.
func makeRoom() {
	for range 20 {
		runtime.Gosched()
	}
}

func (s *stage[W]) begin(w W, together bool) {
	s.world, s.together = w, together
	s.rest.Store(!together)
	s.round++
	s.ready.Store(0)
}

// give gives actor i its cue.
func (s *stage[W]) give(i int) {
	s.mu.Lock()
	s.cues[i].given.Store(s.round)
	s.mu.Unlock()
	s.cued.Broadcast()
}

// perform runs an actor.
func (s *stage[W]) perform(i int) {
	for round := int64(1); s.await(i, round); round++ {
		s.act(i)
	}
}

// await waits for the cue of a round, and returns false if the actor must end.
func (s *stage[W]) await(i int, round int64) bool {
	cue := &s.cues[i]
	given := func() bool { return cue.given.Load() == round || cue.given.Load() == home }
	soon(func() bool { return given() || s.rest.Load() })
	if !given() {
		s.mu.Lock()
		for !given() {
			s.cued.Wait()
		}
		s.mu.Unlock()
	}
	return cue.given.Load() == round
}

// act runs actor i in the present round.
func (s *stage[W]) act(i int) {
	if s.together {
		s.ready.Add(1)
		soon(func() bool { return int(s.ready.Load()) == len(s.actors) })
		hesitate(uint32(s.round)*8 + uint32(i))
	}
	s.actors[i](s.world)
	s.cues[i].ended.Store(s.round)
}

// asleep counts the actors that have not ended.
func (s *stage[W]) asleep() (n int) {
	for i := range s.cues {
		if s.cues[i].ended.Load() != s.round {
			n++
		}
	}
	return n
}

// soon waits for what should happen in a moment, and reports whether it did. It
// keeps its processor meanwhile, so that it can go on at once, and yields it
// now and then.
func soon(happened func() bool) bool {
	looks := 1000
	if underRace {
		looks = 100 // which take as long as one
	}
	for range 50 {
		for range looks {
			if happened() {
				return true
			}
		}
		runtime.Gosched()
	}
	return false
}

// hesitate lets some time pass, from nothing to a few microseconds, evenly on a
// logarithmic scale. Now and then it yields, because there may be only one
// processor. It does the same for the same seed.
func hesitate(seed uint32) {
	dice := scatter(seed)
	if dice>>16%8 == 0 {
		runtime.Gosched()
	}
	for range scatter(dice) % (1 << (dice % 11)) {
		loop()
	}
}

//go:noinline
func loop() {}

// permutations returns all orders of the numbers below n.
func permutations(n int) (orders [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, order := range permutations(n - 1) {
		for at := range n {
			orders = append(orders, slices.Insert(slices.Clone(order), at, n-1))
		}
	}
	return orders
}

// lasting returns the world of all rounds: one set, which keeps the caches warm
// and the windows narrow, or the next one when that was shut down. It is made
// in the bubble.
func lasting(t tester, config Config[int]) func(round int) *Set[int] {
	var s *Set[int]
	return func(int) *Set[int] {
		if s == nil || s.Core.ShuttingDown() {
			s = newTestSet(t, config)
		}
		return s
	}
}

// parity is a Route: even items belong to the first shard of two, odd ones to
// the second.
func parity(item int) uint64 { return uint64(item) & 1 }

// finish takes all ready items, ends their processing, and returns them.
func finish(s *Set[int]) (items []int) {
	for {
		item, _, _, ok := s.TryTake()
		if !ok {
			return items
		}
		s.Done(item)
		items = append(items, item)
	}
}

// A shardLock is the lock of a shard as a sync.Locker that can be tried.
type shardLock struct{ *shard }

func (l shardLock) Lock()         { l.lock() }
func (l shardLock) Unlock()       { l.unlock() }
func (l shardLock) TryLock() bool { return l.tryLock() }
