package contract

import (
	"fmt"
	"strings"
	"time"
)

// A program is a queue's options and a list of calls. It is written as text, so
// that the inputs of FuzzQueue can be read. Every text is a program, because an
// unknown letter has the meaning of another. An example:
//
//	1mkddif Aa G Aa d0 Wb1s
//
// The first seven letters are one each of the tables below, in their order. A
// plus and one letter each of the last three tables may follow. Then follow
// calls. Each is a letter of the table callKinds, and as its shape says, the
// letter of an item (a is the first), a number (a digit), or a duration (a
// digit and a unit). With *n before it, a call is made for n items one after
// the other, and a batch has n items. Blanks may separate calls. So this is a
// queue of integers with one shard, and
//
//	Add(0)
//	Get()
//	Add(0)
//	Done of a held item(0)
//	AddAfter(1, 1s)
type program struct {
	setup setup
	calls []call
}

// A setup describes the options of a queue.
type setup struct {
	shards           int
	tick             time.Duration
	cancelDelayOnAdd bool
	routing          string
	limiter          limiterKind
	items            itemKind
	clock            string

	capacity int
	marks    marks
	ages     ages
}

// marks are the low and the high watermark. If the latter is 0, there are none.
type marks struct{ low, high int }

// ages says whether a queue keeps ages, after how many ticks an item is stuck
// (or 0), and whether it keeps metrics.
type ages struct {
	kept    bool
	stuck   int
	metrics bool
}

// A choice is a letter of a program and its meaning.
type choice[V any] struct {
	letter byte
	value  V
}

var (
	shardChoices = []choice[int]{
		{'1', 1}, {'2', 2}, {'3', 3}, {'4', 4}, {'5', 5}, {'6', 6}, {'7', 7}, {'8', 8}, {'9', 9},
		{'t', 32}, {'w', 64}, {'x', 65}, // ready bits: half a word, a word, and one more
	}
	tickChoices = []choice[time.Duration]{
		{'n', time.Nanosecond}, {'m', time.Millisecond}, {'7', 7 * time.Millisecond}, {'s', time.Second},
	}
	cancelChoices  = []choice[bool]{{'k', false}, {'c', true}} // keep or cancel the delay
	routingChoices = []choice[string]{{'d', "default"}, {'h', "hash"}, {'s', "stable"}, {'g', "group"}}
	limiterChoices = []choice[limiterKind]{
		{'d', defaultLimiter}, {'e', exponentialLimiter}, {'f', fastSlowLimiter}, {'b', bucketLimiter},
		{'x', maxOfLimiter}, {'w', maxWaitLimiter}, {'o', backoffLimiter}, {'i', expiringLimiter},
	}
	itemChoices = []choice[itemKind]{
		{'i', ints}, {'s', texts}, {'f', floats}, {'a', anything},
		{'r', requests}, {'v', weighted}, {'y', arrays}, {'p', pointers},
	}
	clockChoices = []choice[string]{{'f', "fake"}, {'r', "real"}}

	capacityChoices = []choice[int]{{'n', 0}, {'1', 1}, {'2', 2}, {'5', 5}, {'9', 9}}
	markChoices     = []choice[marks]{{'n', marks{}}, {'1', marks{0, 1}}, {'3', marks{1, 3}}, {'8', marks{4, 8}}}
	ageChoices      = []choice[ages]{{'n', ages{}}, {'a', ages{kept: true}}, {'1', ages{true, 1, false}}, {'9', ages{true, 9, false}},
		{'m', ages{true, 0, true}}, {'M', ages{true, 9, true}}}
)

// more follows the setup if the letters of the last three tables do.
const more = '+'

func (s *script) skipBlanks() { *s = script(strings.TrimLeft(string(*s), " ")) }

// parseProgram reads a program.
func parseProgram(text string) program {
	s := script(text)
	p := program{setup: s.setup()}
	for s.skipBlanks(); s != ""; s.skipBlanks() {
		p.calls = append(p.calls, s.call())
	}
	return p
}

// text returns the program as parseProgram reads it.
func (p program) text() string {
	var text strings.Builder
	text.WriteString(p.setup.text())
	for _, c := range p.calls {
		text.WriteByte(' ')
		text.WriteString(c.text())
	}
	return text.String()
}

func (s setup) text() string {
	text := string([]byte{
		letterOf(shardChoices, s.shards), letterOf(tickChoices, s.tick), letterOf(cancelChoices, s.cancelDelayOnAdd),
		letterOf(routingChoices, s.routing), letterOf(limiterChoices, s.limiter), letterOf(itemChoices, s.items), letterOf(clockChoices, s.clock),
	})
	if s.capacity != 0 || s.marks != (marks{}) || s.ages != (ages{}) {
		text += string([]byte{more, letterOf(capacityChoices, s.capacity), letterOf(markChoices, s.marks), letterOf(ageChoices, s.ages)})
	}
	return text
}

// String returns the setup in readable form.
func (s setup) String() string {
	return fmt.Sprintf("shards=%d tick=%v cancelDelayOnAdd=%v routing=%s limiter=%s items=%s clock=%s capacity=%d marks=%v ages=%v",
		s.shards, s.tick, s.cancelDelayOnAdd, s.routing, s.limiter, s.items.name(), s.clock, s.capacity, s.marks, s.ages)
}

// A script is the unread rest of a program's text.
type script string

func (s *script) byte() byte {
	if len(*s) == 0 {
		return '0'
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// number reads a letter as a number, counted from the digit 0.
func (s *script) number() int { return int(int8(s.byte() - '0')) }

// item reads the place of an item: a is the first.
func (s *script) item() int { return int(s.byte() - 'a') }

func (s *script) span() (d span) {
	d.count = s.number()
	d.unit = s.byte()
	return d
}

func (s *script) setup() setup {
	read := setup{
		shards:           choose(shardChoices, s.byte()),
		tick:             choose(tickChoices, s.byte()),
		cancelDelayOnAdd: choose(cancelChoices, s.byte()),
		routing:          choose(routingChoices, s.byte()),
		limiter:          choose(limiterChoices, s.byte()),
		items:            choose(itemChoices, s.byte()),
		clock:            choose(clockChoices, s.byte()),
	}
	if len(*s) > 0 && (*s)[0] == more {
		s.byte()
		read.capacity = choose(capacityChoices, s.byte())
		read.marks = choose(markChoices, s.byte())
		read.ages = choose(ageChoices, s.byte())
	}
	return read
}

// choose returns the meaning of a letter. An unknown letter has the meaning of
// another.
func choose[V any](choices []choice[V], letter byte) V {
	for _, c := range choices {
		if c.letter == letter {
			return c.value
		}
	}
	return choices[int(letter)%len(choices)].value
}

func letterOf[V comparable](choices []choice[V], value V) byte {
	for _, c := range choices {
		if c.value == value {
			return c.letter
		}
	}
	panic(fmt.Sprintf("no letter stands for %v", value))
}
