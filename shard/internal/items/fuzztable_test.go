package items

import "testing"

// operations are the rest of the input of a fuzz test: each is a byte that
// selects it and one or two bytes of arguments. Zeros follow the end.
type operations []byte

func (s *operations) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// FuzzTable reads its input as a hashing and a list of operations, and runs
// them on the table and the model.
func FuzzTable(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		s := operations(input)
		c := newCheckedTable(t, hashings[int(s.byte())%len(hashings)])
		for range 100 {
			if len(s) == 0 {
				break
			}
			tableOperation(c, &s)
			c.check()
		}
	})
}

func tableOperation(c *checkedTable, s *operations) {
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
