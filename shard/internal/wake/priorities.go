package wake

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// Priorities have a bit for each shard, under the class of the level
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

// magnitude returns the class of n, which is at most 1 above the greatest int.
func magnitude(n uint64) int16 {
	if n < exactClasses {
		return int16(n)
	}
	n = min(n, math.MaxInt)
	shift := bits.Len64(n) - 4 // leaves four bits: 8 to 15
	return int16(exactClasses + 8*(shift-1) + int(n>>shift) - 8)
}

// Priorities has a bit for each shard, under the class of the level that it
// serves.
type Priorities struct {
	above, below side
	low          []atomic.Uint64 // a bit for each shard that serves a level below 0
	shown        []shown         // of each shard, guarded by its lock
}

type shown struct {
	priority int
	class    int16
}

type side struct {
	present [(classes + 63) / 64]atomic.Uint64 // a bit for each class that has a shard, or had one
	last    atomic.Int32
	shards  []atomic.Uint64
}

func NewPriorities(shards int) *Priorities {
	words := (shards + WordBits - 1) / WordBits
	p := &Priorities{low: make([]atomic.Uint64, words), shown: make([]shown, shards)}
	for _, s := range []*side{&p.above, &p.below} {
		s.shards = make([]atomic.Uint64, classes*words)
		s.last.Store(-1)
	}
	return p
}

func (s *side) of(distance, words int) []atomic.Uint64 {
	return s.shards[distance*words : (distance+1)*words]
}

// Show says which priority a shard serves. It keeps the bit when the shard becomes
// empty: the ready bits tell that it is empty. A shard's ready bit must be set
// first.
func (p *Priorities) Show(shard uint16, priority int, becameReady bool) {
	if p.shown[shard].priority != priority || becameReady {
		p.setClass(shard, priority)
	}
}

func (p *Priorities) setClass(shard uint16, priority int) {
	is := &p.shown[shard]
	before := is.class
	if is.priority != priority {
		*is = shown{priority, classOf(priority)}
	}
	if before != is.class {
		p.move(before, is.class, int(shard/WordBits), uint64(1)<<(shard%WordBits))
	}
	if is.class != 0 {
		p.show(is.class)
	}
}

func (p *Priorities) move(from, to int16, word int, bit uint64) {
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

// show must come after the shard's bit and its ready bit are set: see tidy.
func (p *Priorities) show(class int16) {
	s, distance := p.sideOf(class)
	word, here := distance/64, uint64(1)<<(distance%64)
	if s.present[word].Load()&here != 0 {
		return
	}
	s.present[word].Or(here)
	for last := s.last.Load(); int(last) < word; last = s.last.Load() {
		s.last.CompareAndSwap(last, int32(word))
	}
}

func (p *Priorities) sideOf(class int16) (s *side, distance int) {
	if class < 0 {
		return &p.below, int(-class)
	}
	return &p.above, int(class)
}

// emptyClasses are met by a Get before it hides the next. To hide each, and
// show it again with the next item, would cost more.
const emptyClasses = 4

// tidy hides a class, and then checks whether a shard has joined it meanwhile.
// A shard sets its bit there before it checks whether the class is shown.
func (s *side) tidy(distance, words int, r *Ready) {
	here := uint64(1) << (distance % 64)
	s.present[distance/64].And(^here)
	if set := (Set{bits: s.of(distance, words)}); set.any(r) {
		s.present[distance/64].Or(here)
	}
}

// A Search goes through sets of ready shards, those that serve a high priority
// first, and all shards in the end.
type Search struct {
	p       *Priorities
	r       *Ready
	stage   stage
	word    int
	present uint64 // the classes of the word that are still to be met
	inVain  int
	set     Set
}

type stage uint8

const (
	aboveZero stage = iota
	notBelowZero
	belowZero
	all
)

// Begin begins a search of all classes.
func (c *Search) Begin(p *Priorities, r *Ready) {
	c.p, c.r = p, r
	if c.word = int(p.above.last.Load()); c.word >= 0 {
		c.present = p.above.present[c.word].Load()
	}
}

// Next returns a set in which a shard was ready, or, at last, all shards. The caller
// goes on if it has found nothing.
func (c *Search) Next() *Set {
	if c.stage == aboveZero {
		if c.nextAbove() {
			return &c.set
		}
		c.stage, c.word = notBelowZero, -1
	}
	if c.stage == notBelowZero {
		c.stage, c.set = belowZero, Set{bits: c.p.low, without: ^uint64(0)}
		return &c.set
	}
	c.set.without = 0
	if !c.nextBelow() {
		c.stage, c.set = all, Set{}
	}
	return &c.set
}

func (c *Search) nextAbove() bool {
	for c.word >= 0 {
		for c.present != 0 {
			b := 63 - bits.LeadingZeros64(c.present)
			c.present &^= 1 << b
			if c.look(&c.p.above, c.word*64+b) {
				return true
			}
		}
		if c.word--; c.word >= 0 {
			c.present = c.p.above.present[c.word].Load()
		}
	}
	return false
}

func (c *Search) nextBelow() bool {
	for {
		for c.present != 0 {
			b := bits.TrailingZeros64(c.present)
			c.present &= c.present - 1
			if c.look(&c.p.below, c.word*64+b) {
				return true
			}
		}
		if c.word++; c.word > int(c.p.below.last.Load()) {
			return false
		}
		c.present = c.p.below.present[c.word].Load()
	}
}

// look reports whether something is ready in a class. It hides a class in which
// nothing is, after it has met some others.
func (c *Search) look(s *side, distance int) bool {
	c.set.bits = s.of(distance, len(c.p.low))
	if c.set.any(c.r) {
		return true
	}
	if c.inVain++; c.inVain > emptyClasses {
		s.tidy(distance, len(c.p.low), c.r)
	}
	return false
}

// IsLast reports whether Next has returned all shards.
func (c *Search) IsLast() bool { return c.stage == all }
