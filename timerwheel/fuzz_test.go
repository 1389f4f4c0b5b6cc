package timerwheel

import (
	"encoding/binary"
	"math"
	"testing"
)

// FuzzWheel reads its input as a starting tick and a list of operations, and
// runs them on the wheel and the model.
//
// An operation is a byte that selects it, and its arguments. A timer and a
// limit are one byte each. A tick is a byte for its shape, and the bytes that
// the shape needs. Missing bytes at the end are zero.
func FuzzWheel(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		s := &script{bytes: input}
		c := newChecked(t, s.tick(0))
		const most = 300 // operations: enough to combine them all, and quick
		for range most {
			if len(s.bytes) == 0 {
				break
			}
			s.operation(c)
			c.check()
		}
		c.arrive(math.MaxUint64, 16)
		if len(c.timers) > 0 {
			t.Fatalf("at the end of time, %d timers are left", len(c.timers))
		}
	})
}

// A script is the unread rest of the input.
type script struct {
	bytes []byte
}

// operation reads one operation and runs it.
func (s *script) operation(c *checked) {
	switch s.byte() % 8 {
	case 0, 1, 2:
		c.schedule(s.id(), s.tick(c.wheel.Now()))
	case 3:
		c.cancel(s.id())
	case 4:
		c.advance(s.tick(c.wheel.Now()), int(s.byte()))
	case 5:
		s.advanceBusy(c)
	case 6:
		if next, ok := c.wheel.Next(); ok {
			c.arrive(next, 1+int(s.byte()))
		}
	case 7:
		c.rewind(s.tick(c.wheel.Now()))
	}
}

// advanceBusy advances. Each timer that fires runs the next operations of the
// script.
func (s *script) advanceBusy(c *checked) {
	now, limit := s.tick(c.wheel.Now()), int(s.byte())
	c.onFire = func(fired uint32) {
		switch s.byte() % 4 {
		case 0:
			c.schedule(fired, s.tick(c.wheel.Now()))
		case 1:
			c.schedule(s.id(), s.tick(c.wheel.Now()))
		case 2:
			c.cancel(s.id())
		}
	}
	c.advance(now, limit)
	c.onFire = nil
}

// id reads one of 64 low ids, over which the first chunk grows, or one of 192
// ids that are spread over later chunks.
func (s *script) id() uint32 {
	b := uint32(s.byte())
	if b < 64 {
		return b + 1
	}
	return 400 + b*8
}

// tick reads a tick. The high half of the first byte selects a base: now, a
// neighbor of it, or an end of the range. The low half selects a level, and the
// next byte a number of its slots to add or subtract. Other values of the low
// half mean the base itself, or that the tick follows as a word.
func (s *script) tick(now uint64) uint64 {
	shape := s.byte()
	base := []uint64{now, 0, now + 1, now - 1, math.MaxUint64}[shape>>4%5]
	switch level := int(shape & 15); {
	case level < levels:
		return base + uint64(int8(s.byte()))<<(levelBits*level)
	case level == levels:
		return s.word()
	default:
		return base
	}
}

func (s *script) byte() byte {
	if len(s.bytes) == 0 {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return b
}

func (s *script) word() uint64 {
	var word [8]byte
	for i := range word {
		word[i] = s.byte()
	}
	return binary.LittleEndian.Uint64(word[:])
}
