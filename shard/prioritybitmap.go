package shard

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// The priority bitmap has a bit for each shard, under the class of the level
// that the shard serves, so that a Get need not lock every shard. Classes are
// priorities, rounded toward zero beyond 15: to a multiple of 2 up to 31, of 4
// up to 63, and so on. So levels are told apart that differ by an eighth or
// more, and the bitmap has one size for any priorities.
//
// The bitmap is advice. The ready bits are what finds an item, and a Get that
// the bitmap has led to a shard takes the best item there. Ready shards that
// have no bit in the bitmap serve priority 0.

const (
	exactClasses = 16
	classes      = exactClasses + 8*(bits.UintSize-1-4)
)

func classOf(priority int) int16 {
	if priority < 0 {
		return -magnitude(uint64(-int64(priority)))
	}
	return magnitude(uint64(priority))
}

// magnitude takes a number at most 1 above the greatest int.
func magnitude(n uint64) int16 {
	if n < exactClasses {
		return int16(n)
	}
	n = min(n, math.MaxInt)
	shift := bits.Len64(n) - 4 // leaves four bits: 8 to 15
	return int16(exactClasses + 8*(shift-1) + int(n>>shift) - 8)
}

type priorityBitmap struct {
	above side
	below side
	low   []atomic.Uint64 // a bit for each shard that serves a level below 0
}

type side struct {
	present [(classes + 63) / 64]atomic.Uint64 // a bit for each class that has a shard, or had one
	last    atomic.Int32
	shards  []atomic.Uint64
}

func (s *Core) needPriorityBitmap() {
	if len(s.shards) == 1 || s.priorityBitmap.Load() != nil {
		return
	}
	words := s.readyWords()
	p := &priorityBitmap{low: make([]atomic.Uint64, words)}
	for _, s := range []*side{&p.above, &p.below} {
		s.shards = make([]atomic.Uint64, classes*words)
		s.last.Store(-1)
	}
	s.priorityBitmap.CompareAndSwap(nil, p)
}

func (s *side) of(distance, words int) []atomic.Uint64 {
	return s.shards[distance*words : (distance+1)*words]
}

// publishPriority keeps the bit when the shard becomes empty: a Get reads the
// ready bits as well. A shard's ready bit must be set first.
func (sh *shard) publishPriority(l *levels, becameReady bool) {
	if class := l.served.class; class != l.class || becameReady && class != 0 {
		sh.setClass(l, class)
	}
}

func (sh *shard) setClass(l *levels, class int16) {
	p := sh.set.priorityBitmap.Load()
	if p == nil {
		return // one shard needs no bitmap
	}
	if before := l.class; before != class {
		l.class = class
		word, bit := int(sh.number/64), uint64(1)<<(sh.number%64)
		p.move(before, class, word, bit)
	}
	if class != 0 {
		p.show(class)
	}
}

func (p *priorityBitmap) move(from, to int16, word int, bit uint64) {
	if from != 0 {
		s, distance := p.sideOf(from)
		s.of(distance, len(p.low))[word].And(^bit)
	}
	if to != 0 {
		s, distance := p.sideOf(to)
		s.of(distance, len(p.low))[word].Or(bit)
	}
	switch {
	case to < 0 && from >= 0:
		p.low[word].Or(bit)
	case from < 0 && to >= 0:
		p.low[word].And(^bit)
	}
}

// show must follow the shard's bit and its ready bit: see tidy.
func (p *priorityBitmap) show(class int16) {
	s, distance := p.sideOf(class)
	word, here := distance/64, uint64(1)<<(distance%64)
	if s.present[word].Load()&here != 0 {
		return
	}
	s.present[word].Or(here)
	for last := s.last.Load(); int(last) < word && !s.last.CompareAndSwap(last, int32(word)); {
		last = s.last.Load()
	}
}

func (p *priorityBitmap) sideOf(class int16) (s *side, distance int) {
	if class < 0 {
		return &p.below, int(-class)
	}
	return &p.above, int(class)
}

// emptyClasses may be met by a Get before it hides them. To hide each, and show
// it again with the next item, costs more.
const emptyClasses = 4

// tidy hides a class, and then checks whether a shard has joined it meanwhile.
// A shard sets its bit there before it checks whether the class is shown.
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

func (s *Core) lockHighest(p *priorityBitmap, start uint32) *shard {
	inVain := 0
	for word := int(p.above.last.Load()); word >= 0; word-- {
		for present := p.above.present[word].Load(); present != 0; {
			b := 63 - bits.LeadingZeros64(present)
			present &^= 1 << b
			if sh := s.lockIn(&p.above, word*64+b, start); sh != nil {
				return sh
			}
			if inVain++; inVain > emptyClasses {
				p.above.tidy(word*64+b, len(p.low), s.readyWord)
			}
		}
	}
	if sh := s.lockNotLow(p, start); sh != nil {
		return sh
	}
	for word := range int(p.below.last.Load()) + 1 {
		for present := p.below.present[word].Load(); present != 0; present &= present - 1 {
			distance := word*64 + bits.TrailingZeros64(present)
			if sh := s.lockIn(&p.below, distance, start); sh != nil {
				return sh
			}
			if inVain++; inVain > emptyClasses {
				p.below.tidy(distance, len(p.low), s.readyWord)
			}
		}
	}
	return s.lockReady(start)
}

func (s *Core) lockIn(side *side, distance int, start uint32) *shard {
	set := side.of(distance, s.readyWords())
	if len(set) == 1 && set[0].Load()&s.readyWord(0) == 0 {
		return nil // the most frequent case
	}
	return s.lockAmong(set, 0, start)
}

func (s *Core) lockNotLow(p *priorityBitmap, start uint32) *shard {
	if p.below.last.Load() < 0 {
		return s.lockReady(start)
	}
	return s.lockAmong(p.low, ^uint64(0), start)
}

// lockAmong locks a ready shard of a set or, if without is all ones, of no set.
func (s *Core) lockAmong(set []atomic.Uint64, without uint64, start uint32) *shard {
	var first *shard
	word := int(start / 64)
	from := uint64(1)<<(start%64) - 1
	for range len(set) + 1 {
		ready := s.readyWord(word) & (set[word].Load() ^ without) &^ from
		for from = 0; ready != 0; ready &= ready - 1 {
			sh := s.shard(word*64 + bits.TrailingZeros64(ready))
			if sh.tryLock() {
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
		first.lock()
	}
	return first
}

func (s *Core) lockByPriority(p *priorityBitmap, lane *lane) (sh *shard, passedOver bool) {
	if s.config.LowPriorityInterval > 0 && lane.gets.Add(1)%uint32(s.config.LowPriorityInterval) == 0 {
		return s.lockPassedOver(lane), true
	}
	return s.lockHighest(p, lane.turn.Load()), false
}

func (s *Core) lockPassedOver(lane *lane) *shard {
	sh := s.lockReady(lane.passedOver.Load())
	if sh != nil {
		lane.passedOver.Store((uint32(sh.number) + 1) % uint32(len(s.shards)))
	}
	return sh
}
