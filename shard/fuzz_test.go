package shard

import (
	"testing"
	"time"
)

// A script is the rest of the input of a fuzz test: a list of operations that
// can also be written by hand. Each is a byte that selects it and one or two
// bytes of arguments. Zeros follow the end of the input.
type script []byte

func (s *script) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// mostOperations are enough to combine them all, and quick.
const mostOperations = 100

// FuzzTable reads its input as a hashing and a list of operations, and runs
// them on the table and the model.
func FuzzTable(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		s := script(input)
		c := newCheckedTable(t, hashings[int(s.byte())%len(hashings)])
		for range mostOperations {
			if len(s) == 0 {
				break
			}
			tableOperation(c, &s)
			c.check()
		}
	})
}

func tableOperation(c *checkedTable, s *script) {
	switch s.byte() % 8 {
	case 0, 1:
		c.add(uint32(s.byte()))
	case 2, 3:
		c.remove(uint32(s.byte()))
	case 4:
		c.find(uint32(s.byte()))
	case 5: // a burst comes
		for first, n := 20*uint32(s.byte()), 4*uint32(s.byte()); n > 0; n-- {
			c.add(first + n)
		}
	case 6: // a burst goes
		for first, n := 20*uint32(s.byte()), 4*uint32(s.byte()); n > 0; n-- {
			c.remove(first + n)
		}
	case 7: // all but some go
		kept := uint32(s.byte())
		for _, item := range c.items() {
			if kept == 0 || item%kept != 0 {
				c.remove(item)
			}
		}
	}
}

// FuzzSet reads its input as a configuration and a list of calls, and makes
// them on a set and on the model.
func FuzzSet(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		s := script(input)
		flags := s.byte()
		c := newCheckedSet(t, Config[int]{
			Shards:  1 + int(flags&3),
			Rules:   Rules{CancelDelayOnAdd: flags&4 != 0},
			Tick:    []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, 1}[flags>>3&3],
			Ages:    flags&32 != 0,
			Metrics: flags&32 != 0,
		})
		for range mostOperations {
			if len(s) == 0 {
				break
			}
			setOperation(c, &s)
			c.check()
		}
		c.drainAll()
	})
}

func setOperation(c *checkedSet, s *script) {
	switch s.byte() % 12 {
	case 0, 1:
		c.add(int(s.byte() % 16))
	case 2, 3:
		c.addAfter(int(s.byte()%16), s.duration())
	case 4, 5:
		c.get()
	case 6:
		c.done(int(s.byte() % 16))
	case 7:
		c.doneSome(1 + int(s.byte()%4))
	case 8:
		c.step(s.duration())
	case 9:
		c.stepToNext(time.Duration(int8(s.byte())) * time.Millisecond / 8)
	case 10:
		s.burst(c)
	case 11:
		if s.byte()%8 == 0 {
			c.shutDown()
		}
	}
}

// duration has a byte for the unit and one for the number, which may be
// negative.
func (s *script) duration() time.Duration {
	units := []time.Duration{1, time.Microsecond, time.Millisecond, 10 * time.Millisecond,
		time.Second, time.Minute, time.Hour, 3 * time.Hour}
	unit := units[s.byte()%8]
	return time.Duration(int8(s.byte())) * unit
}

// burst adds many items, and takes some of them.
func (s *script) burst(c *checkedSet) {
	do, first, n := s.byte()%4, 10*int(s.byte()), 3*int(s.byte())
	for item := first; item < first+n; item++ {
		switch do {
		case 0:
			c.add(item)
		case 1:
			c.addAfter(item, time.Duration(1+item%50)*time.Millisecond)
		case 2:
			c.get()
		case 3:
			c.done(item)
		}
	}
}
