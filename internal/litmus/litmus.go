// Package litmus makes two calls at the same time, over and over, and checks
// what came of them. It is for tests, of races that a comment in the source
// says cannot be lost.
package litmus

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Pair is two calls and a table of what may come of them. In the first rounds
// one call comes after the other, in both orders; in the next they are held up
// at a lock, if there is one to hold them up; in the others they meet as chance
// will have it.
type Pair struct {
	// Rounds is how many there are, a tenth of them with -short.
	Rounds int
	// Lock, if it is not nil, returns the lock that both calls need in this
	// round.
	Lock func() *sync.Mutex
	// Begin makes ready what the calls are about.
	Begin func()
	// One and Other are the calls.
	One, Other func()
	// Outcome says in words what came of them.
	Outcome func() string
	// Outcomes are those that may be. All of them come of some order of the
	// calls, so a test that does not see them does not try what it means to
	// try.
	Outcomes []string
}

// Run plays the rounds, and ends the test at the first outcome that may not be.
func (p Pair) Run(t *testing.T) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	if testing.Short() {
		p.Rounds /= 10
	}
	seen := map[string]int{}
	for round := range p.Rounds {
		p.Begin()
		p.play(round)
		outcome := p.Outcome()
		seen[outcome]++
		if !slices.Contains(p.Outcomes, outcome) {
			t.Fatalf("round %d: forbidden outcome: %s\n%v", round, outcome, seen)
		}
	}
	if len(seen) < len(p.Outcomes) {
		t.Errorf("not all outcomes were seen: %v", seen)
	}
	t.Log(seen)
}

func (p Pair) play(round int) {
	first, second := p.One, p.Other
	if round%2 == 1 {
		first, second = second, first
	}
	switch way := round / 2; {
	case way == 0:
		first()
		second()
	case way < 4 && p.Lock != nil:
		onOneProcessor(func() { heldUp(p.Lock(), first, second) })
	case way < 8 && p.Lock != nil:
		onOneProcessor(func() { overtaken(p.Lock(), first, second) })
	default:
		together(round, first, second)
	}
}

// together makes both calls as nearly at the same time as it can, one of them a
// little later now and then.
func together(round int, one, other func()) {
	var ready atomic.Int32
	meet := func(seed uint64) {
		ready.Add(1)
		for n := 1; ready.Load() < 2; n++ {
			if n%1000 == 0 {
				runtime.Gosched()
			}
		}
		dice := seed * 0x9e3779b97f4a7c15 >> 32
		if dice%8 == 0 {
			runtime.Gosched()
		}
		for range dice % 64 * (dice >> 8 % 4) {
			loop()
		}
	}
	var both sync.WaitGroup
	both.Go(func() { meet(uint64(2*round + 1)); other() })
	meet(uint64(2 * round))
	one()
	both.Wait()
}

//go:noinline
func loop() {}

func onOneProcessor(do func()) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	do()
}

// heldUp makes both calls, the one first, on one processor, while the lock is
// held that both need, and then hands it over from one to the other: the first
// stops at the end of its critical section until the other had its own. (A
// mutex that has let a goroutine starve for a millisecond is handed over:
// package sync.)
func heldUp(lock *sync.Mutex, first, second func()) {
	var both sync.WaitGroup
	lock.Lock()
	both.Go(first)
	makeRoom()
	both.Go(second)
	makeRoom()
	for begin := time.Now(); time.Since(begin) < 2*time.Millisecond; {
		makeRoom()
	}
	lock.Unlock()
	if lock.TryLock() { // before the first, who will not have that again
		makeRoom()
		lock.Unlock()
	}
	both.Wait()
}

// overtaken likewise makes the first call stop before its critical section
// until the other is done.
func overtaken(lock *sync.Mutex, first, second func()) {
	var both sync.WaitGroup
	lock.Lock()
	both.Go(first)
	makeRoom()
	lock.Unlock()
	both.Go(second)
	both.Wait()
}

// makeRoom lets all others run who can, if there is one processor.
func makeRoom() {
	for range 20 {
		runtime.Gosched()
	}
}
