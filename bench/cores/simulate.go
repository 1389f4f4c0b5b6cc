package main

import (
	"container/heap"
	"math/rand/v2"
)

// A machine has a goroutine on each core. Times are in nanoseconds.
type machine struct {
	cores, shards int
	move          float64 // for the lines of a shard that another core has used last
	spin          float64 // before a waiter parks
	wake          float64 // from an unlock until a parked waiter runs
}

// An operation works, and then holds the lock of a random shard, some times.
type operation struct {
	name       string
	work, hold float64 // beside the lock, and under it
	holds      int     // in the same shard
}

// A lock is a sync.Mutex in its normal mode: a waiter that runs takes it before one
// that was woken, and one at a time is woken.
type lock struct {
	held, waking bool
	last         int // the core that has had it
	spinning     []int
	parked       []int
}

type step uint8

const (
	wants step = iota
	frees
	stopsSpinning
	wakes
)

type event struct {
	at   float64
	core int
	step step
	turn int // of the core when this was planned: void after another step
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

type core struct {
	shard *lock
	left  int // the holds of its operation
	turn  int
}

type simulation struct {
	machine
	op     operation
	random *rand.Rand
	locks  []lock
	all    []core
	due    events
	now    float64
	done   int
}

// perSecond simulates the same operation on all cores, and returns how many there are
// in a second.
func (m machine) perSecond(op operation) float64 {
	const length = 10e6
	s := &simulation{machine: m, op: op, random: rand.New(rand.NewPCG(1, 1)), locks: make([]lock, m.shards), all: make([]core, m.cores)}
	for c := range s.all {
		s.begin(c)
	}
	for s.now < length {
		e := heap.Pop(&s.due).(event)
		if s.now = e.at; e.turn == s.all[e.core].turn {
			s.do(e)
		}
	}
	return float64(s.done) / length * 1e9
}

func (s *simulation) begin(c int) {
	s.all[c].shard, s.all[c].left = &s.locks[s.random.IntN(s.shards)], s.op.holds
	s.after(s.vary(s.op.work), c, wants)
}

// vary returns half of a time, to one and a half.
func (s *simulation) vary(time float64) float64 { return time * (0.5 + s.random.Float64()) }

func (s *simulation) after(time float64, c int, what step) {
	s.all[c].turn++
	heap.Push(&s.due, event{s.now + time, c, what, s.all[c].turn})
}

func (s *simulation) do(e event) {
	l := s.all[e.core].shard
	switch {
	case e.step == frees:
		s.free(l, e.core)
	case e.step == wakes && l.held:
		l.waking = false
		l.parked = append([]int{e.core}, l.parked...)
	case e.step == wakes:
		l.waking = false
		s.take(l, e.core)
	case e.step == stopsSpinning:
		l.spinning = without(l.spinning, e.core)
		l.parked = append(l.parked, e.core)
	case l.held:
		l.spinning = append(l.spinning, e.core)
		s.after(s.spin, e.core, stopsSpinning)
	default:
		s.take(l, e.core)
	}
}

func (s *simulation) take(l *lock, c int) {
	time := s.vary(s.op.hold)
	if l.last != c {
		time += s.move
	}
	l.held, l.last = true, c
	s.after(time, c, frees)
}

func (s *simulation) free(l *lock, c int) {
	l.held = false
	if n := len(l.spinning); n > 0 {
		next := l.spinning[s.random.IntN(n)]
		l.spinning = without(l.spinning, next)
		s.take(l, next)
	}
	if len(l.parked) > 0 && !l.waking {
		l.waking = true
		first := l.parked[0]
		l.parked = l.parked[1:]
		s.after(s.vary(s.wake), first, wakes)
	}
	if s.all[c].left--; s.all[c].left > 0 {
		s.after(0, c, wants)
		return
	}
	s.done++
	s.begin(c)
}

func without(cores []int, c int) []int {
	for i := range cores {
		if cores[i] == c {
			return append(cores[:i], cores[i+1:]...)
		}
	}
	return cores
}
