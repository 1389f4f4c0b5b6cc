package shard

import (
	"math"
	"math/bits"

	"github.com/shardq/shardq/internal/shared"
)

// Priorities across shards. So that a Get need not look into every shard for the highest
// level, there is a board: it has a bit for each shard under the class of the level that
// the shard serves. Classes are priorities, rounded toward zero once they are beyond 15:
// to a multiple of 2 up to 31, of 4 up to 63, and so on, as in a floating-point number
// with three bits behind the first. So a level is preferred to those that differ from
// it by an eighth or more, in a board of one size for any priorities.
//
// The board is advice: an item is found by the ready bits in any case, and a Get that
// the board has led to a shard takes the best that is there when it comes. Of
// the shards whose bit is nowhere on the board, those that are ready have priority 0.

// classes is the number of classes of one sign, zero's among them.
const (
	exactClasses = 16
	classes      = exactClasses + 8*(bits.UintSize-1-4)
)

// classOf returns the class of a priority: its order is theirs, and that of 0 is 0.
func classOf(priority int) int16 {
	if priority < 0 {
		return -magnitude(uint64(-int64(priority)))
	}
	return magnitude(uint64(priority))
}

// magnitude returns the class of a number that is at most 1 above the greatest int,
// with which it shares its class.
func magnitude(n uint64) int16 {
	if n < exactClasses {
		return int16(n)
	}
	n = min(n, math.MaxInt)
	shift := bits.Len64(n) - 4 // leaves four bits: 8 to 15
	return int16(exactClasses + 8*(shift-1) + int(n>>shift) - 8)
}

// urgency is the board of a set.
type urgency struct {
	above side
	below side
	// low has a bit for each shard that serves a level below 0.
	low []shared.Uint64[shared.PriorityShards]
}

// A side of the board has the classes of one sign, by their distance from 0.
type side struct {
	// present has a bit for each class that has a bit, or had one; beyond word last there
	// was none. It is -1 while there was none at all.
	present [(classes + 63) / 64]shared.Uint64[shared.Priorities]
	last    shared.Int32[shared.Priorities]
	shards  []shared.Uint64[shared.PriorityShards]
}

// needUrgency makes sure that a set of several shards has a board.
func (s *Set[T]) needUrgency() {
	if len(s.shards) > 1 && s.urgency.Load() == nil {
		s.urgency.CompareAndSwap(nil, newUrgency(s.readyWords()))
	}
}

func newUrgency(words int) *urgency {
	u := &urgency{low: make([]shared.Uint64[shared.PriorityShards], words)}
	for _, s := range []*side{&u.above, &u.below} {
		s.shards = make([]shared.Uint64[shared.PriorityShards], classes*words)
		s.last.Store(-1)
	}
	return u
}

// of returns the words of a class.
func (s *side) of(distance, words int) []shared.Uint64[shared.PriorityShards] {
	return s.shards[distance*words : (distance+1)*words]
}

// announce puts the shard under the class of the level that it serves on the board. It stays
// there when it has nothing left, until it serves another: who looks at the board looks at
// the ready bits, too. It is called under the shard's lock, after the ready bit was
// set if the shard has become ready.
func (sh *shard[T]) announce(l *levels, becameReady bool) {
	if class := l.served.class; class != l.class || becameReady && class != 0 {
		sh.post(l, class)
	}
}

func (sh *shard[T]) post(l *levels, class int16) {
	u := sh.set.urgency.Load()
	if u == nil {
		return // one shard needs no board
	}
	if before := l.class; before != class {
		l.class = class
		word, bit := int(sh.number/64), uint64(1)<<(sh.number%64)
		u.move(before, class, word, bit)
	}
	if class != 0 {
		u.show(class)
	}
}

// move moves a shard's bit from class to class.
func (u *urgency) move(from, to int16, word int, bit uint64) {
	if from != 0 {
		s, distance := u.sideOf(from)
		s.of(distance, len(u.low))[word].And(^bit)
	}
	if to != 0 {
		s, distance := u.sideOf(to)
		s.of(distance, len(u.low))[word].Or(bit)
	}
	switch {
	case to < 0 && from >= 0:
		u.low[word].Or(bit)
	case from < 0 && to >= 0:
		u.low[word].And(^bit)
	}
}

// show sees to it that a class is looked at, after a shard has got its bit there and its
// ready bit: see tidy.
func (u *urgency) show(class int16) {
	s, distance := u.sideOf(class)
	word, here := distance/64, uint64(1)<<(distance%64)
	if s.present[word].Load()&here != 0 {
		return
	}
	s.present[word].Or(here)
	for last := s.last.Load(); int(last) < word && !s.last.CompareAndSwap(last, int32(word)); {
		last = s.last.Load()
	}
}

func (u *urgency) sideOf(class int16) (s *side, distance int) {
	if class < 0 {
		return &u.below, int(-class)
	}
	return &u.above, int(class)
}

// emptyClasses is how many classes that have nothing a Get passes by, before it takes
// them off the board. To take the one that it finds off each time, only to have it put on
// again with the next item, costs more than to look.
const emptyClasses = 4

// tidy takes a class off, and then looks whether a shard has come meanwhile, which put its
// bit there first.
func (s *side) tidy(distance, words int, ready func(word int) uint64) {
	here := uint64(1) << (distance % 64)
	s.present[distance/64].And(^here)
	set := s.of(distance, words)
	for i := range set {
		if set[i].Load()&ready(i) != 0 {
			s.present[distance/64].Or(here)
			return
		}
	}
}

// lockUrgent is lockReady with regard to priorities: it returns a shard of the highest class
// that has any.
func (s *Set[T]) lockUrgent(u *urgency, start uint32) *shard[T] {
	inVain := 0
	for word := int(u.above.last.Load()); word >= 0; word-- {
		for present := u.above.present[word].Load(); present != 0; {
			b := 63 - bits.LeadingZeros64(present)
			present &^= 1 << b
			if sh := s.lockIn(&u.above, word*64+b, start); sh != nil {
				return sh
			}
			if inVain++; inVain > emptyClasses {
				u.above.tidy(word*64+b, len(u.low), s.readyWord)
			}
		}
	}
	if sh := s.lockNotLow(u, start); sh != nil {
		return sh
	}
	for word := range int(u.below.last.Load()) + 1 {
		for present := u.below.present[word].Load(); present != 0; present &= present - 1 {
			distance := word*64 + bits.TrailingZeros64(present)
			if sh := s.lockIn(&u.below, distance, start); sh != nil {
				return sh
			}
			if inVain++; inVain > emptyClasses {
				u.below.tidy(distance, len(u.low), s.readyWord)
			}
		}
	}
	return s.lockReady(start)
}

// lockIn returns a shard of a class.
func (s *Set[T]) lockIn(side *side, distance int, start uint32) *shard[T] {
	set := side.of(distance, s.readyWords())
	if len(set) == 1 && set[0].Load()&s.readyWord(0) == 0 {
		return nil // at once, for this is what is found most often
	}
	return s.lockAmong(set, 0, start)
}

// lockNotLow returns a shard that is ready, and of no class below 0.
func (s *Set[T]) lockNotLow(u *urgency, start uint32) *shard[T] {
	if u.below.last.Load() < 0 {
		return s.lockReady(start)
	}
	return s.lockAmong(u.low, ^uint64(0), start)
}

// lockAmong is lockReady for the shards that have a bit in a set, or, if without is all
// ones, for those that have none there.
func (s *Set[T]) lockAmong(set []shared.Uint64[shared.PriorityShards], without uint64, start uint32) *shard[T] {
	var first *shard[T]
	word := int(start / 64)
	from := uint64(1)<<(start%64) - 1
	for range len(set) + 1 {
		ready := s.readyWord(word) & (set[word].Load() ^ without) &^ from
		for from = 0; ready != 0; ready &= ready - 1 {
			sh := s.shard(word*64 + bits.TrailingZeros64(ready))
			if sh.mu.TryLock() {
				return sh
			}
			if first == nil {
				first = sh
			}
		}
		if word++; word == len(set) {
			word = 0
		}
	}
	if first != nil {
		first.mu.Lock()
	}
	return first
}

// lockByPriority is lockReady for a set with a board. It reports whether the Get is one of
// those that pass by the higher levels.
func (s *Set[T]) lockByPriority(u *urgency, lane *lane) (sh *shard[T], passedOver bool) {
	if s.lowerEvery > 0 && lane.gets.Add(1)%s.lowerEvery == 0 {
		return s.lockPassedOver(lane), true
	}
	return s.lockUrgent(u, lane.turn.Load()), false
}

// lockPassedOver goes round the shards that are ready, whatever they serve.
func (s *Set[T]) lockPassedOver(lane *lane) *shard[T] {
	sh := s.lockReady(lane.passedOver.Load())
	if sh != nil {
		lane.passedOver.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
	}
	return sh
}
