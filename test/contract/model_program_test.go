package contract

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// A program is the options of a queue and a list of calls. It is written as a
// short text, which FuzzQueue reads, and a failing test prints. An example:
//
//	s2t1: Aa G Aa d Wb5
//
// Before the colon each setting that is not the default has its letter and the
// number of its value. Each call has its letter and then its arguments, one
// character each. Arguments at the end that are 0 are left out. Every text is a
// program, because unknown characters mean something else, or nothing.
// A failing test prints it in Go, too: see [player.write].
type program struct {
	setup setup
	calls []call
}

// A setting is an option of the queue, or several. The first value is the
// default.
type setting struct {
	letter byte
	name   string
	values []string
}

var settings = []setting{
	{'s', "shards", []string{"1", "2", "3", "5", "130"}},
	{'t', "tick", []string{"1ms", "1ns", "7ms", "1s"}},
	{'c', "clock", []string{"fake", "real", "wall"}},
	{'r', "routing", []string{"hash", "group", "own", "stable"}},
	{'p', "policies", []string{"0", "1", "2", "3", "4", "5"}},
	{'l', "low priority interval", []string{"0", "2", "3"}},
	{'f', "priorities before turns", []string{"no", "yes"}},
	{'q', "rate", []string{"0", "1", "2", "3", "4"}},
	{'C', "capacity", []string{"0", "1", "2", "5"}},
	{'w', "watermarks", []string{"0 0", "0 1", "1 3", "4 8"}},
	{'a', "ages", []string{"none", "ages", "metrics"}},
	{'u', "stuck after", []string{"0", "1", "9"}},
	{'B', "keep backoff", []string{"no", "yes"}},
	{'D', "cancel delay on add", []string{"no", "yes"}},
	{'y', "drop delay if ready", []string{"no", "yes"}},
	{'P', "keep places", []string{"no", "yes"}},
	{'d', "discard on shutdown", []string{"no", "yes"}},
	{'o', "on add", []string{"no", "yes"}},
	{'x', "faults", []string{"no", "yes"}},
	{'i', "items", []string{"strings", "interfaces", "pointers"}},
}

// A setup has the number of the value of each setting.
type setup map[byte]int

func (s setup) value(name string) string {
	for _, of := range settings {
		if of.name == name {
			return of.values[s[of.letter]]
		}
	}
	panic("there is no setting " + name)
}

// number returns a value that is a number, or 0.
func (s setup) number(name string) int {
	n, _ := strconv.Atoi(s.value(name))
	return n
}

func (s setup) is(name, value string) bool { return s.value(name) == value }

// A callKind says what a call is, and what arguments it has.
type callKind struct {
	letter byte
	often  int
	name   string
	// arguments has a character for each: i is an item, d a duration, n and b
	// numbers, o what to do with a delay, p a priority.
	arguments string
}

var callKinds = []callKind{
	{'A', 9, "Add", "i"},
	{'W', 5, "AddAfter", "id"},
	{'R', 2, "AddRateLimited", "i"},
	{'V', 9, "AddWith", "idopddt"},
	{'T', 4, "TryAdd", "idopddt"},
	{'U', 4, "AddContext", "idopddt"},
	{'M', 3, "AddBatch", "idopddbt"},
	{'F', 1, "Forget", "i"},
	{'K', 3, "Cancel", "i"},
	{'N', 1, "RetryNow", "i"},

	{'G', 5, "Get", ""},
	{'g', 2, "Get at the same time as what follows", ""},
	{'C', 3, "GetContext", ""},
	{'E', 1, "GetContext with an ended context", ""},
	{'I', 1, "Items, for one turn", ""},
	{'k', 6, "Claim", ""},
	{'t', 4, "TryClaim", ""},
	{'l', 4, "ClaimBatch", "b"},
	{'c', 2, "cancel a parked consumer", "n"},
	{'b', 1, "cancel a parked consumer beside an Add", "ni"},

	{'D', 1, "Done", "i"},
	{'d', 9, "Done of a held item", "n"},
	{'e', 3, "Done of a claim", "n"},
	{'r', 4, "Retry of a claim", "n"},
	{'q', 3, "RequeueAfter of a claim", "nd"},
	{'a', 3, "Release of a claim", "n"},
	{'f', 2, "DoneClaims", "nb"},
	{'x', 1, "each end of an ended claim", "n"},
	{'+', 2, "the next two or three calls at once", "n"},
	{'!', 1, "a function of the user panics during the next call", "nn"},
	{'B', 2, "take an item, add it again, and end it, many times", "n"},

	{'S', 4, "Step", "d"},
	{'n', 9, "Step to the next event", "n"},

	{'P', 1, "Pause", ""},
	{'p', 2, "Resume", ""},
	{'Q', 3, "PauseGroup", "id"},
	{'o', 2, "ResumeGroup", "i"},
	{'h', 2, "RefreshGroup", "i"},
	{'y', 3, "change GroupPolicy", "in"},
	{'z', 2, "SetRate", "n"},

	{'X', 1, "ShutDown", ""},
	{'Y', 1, "ShutDownWithDrain", ""},
	{'Z', 3, "Drain", "nd"},
	{'u', 1, "cancel Drain or WaitIdle", "n"},
	{'v', 1, "cancel AddContext", "n"},
	{'w', 1, "WaitIdle", ""},
}

// A call has its arguments as characters.
type call struct {
	callKind
	given string
}

// argument returns the nth argument of a kind as a number.
func (c call) argument(kind rune, nth int) int {
	for i, k := range c.arguments {
		if k != kind {
			continue
		}
		if nth--; nth < 0 {
			if i < len(c.given) {
				return int(c.given[i]) - '0'
			}
			return 0
		}
	}
	return 0
}

func (c call) number() int { return c.argument('n', 0) }

// size is the number of items of a batch.
func (c call) size() int {
	sizes := []int{1, 2, 3, 5, 40, 63, 64, 65, 200}
	return sizes[modulo(c.argument('b', 0), len(sizes))]
}

func (c call) duration(nth int, tick time.Duration) time.Duration {
	choices := []time.Duration{
		0, tick, 2 * tick, 3 * tick, 5 * tick, time.Second, max(1, tick/4), 64 * tick, 64*64*tick - 1, time.Hour,
		-tick, math.MaxInt64, math.MinInt64,
	}
	return choices[modulo(c.argument('d', nth), len(choices))]
}

// priority is 0 more often than not.
func (c call) priority() int {
	priorities := []int{0, 1, 2, -1, 0, 0, 0, 1, 5, 20, -2, -30, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	return priorities[modulo(c.argument('p', 0), len(priorities))]
}

func (c call) item(further int) string {
	n := modulo(c.argument('i', 0)-('a'-'0')+further, 200)
	return strings.Repeat(string(rune('a'+n%25)), 1+n/25)
}

// modulo returns the remainder of n, at least 0.
func modulo(n, by int) int { return (n%by + by) % by }

func parseProgram(text string) (p program) {
	options, calls, _ := strings.Cut(text, ":")
	p.setup = setup{}
	for i := 0; i+1 < len(options); i += 2 {
		for _, s := range settings {
			if s.letter == options[i] {
				p.setup[s.letter] = modulo(int(options[i+1])-'0', len(s.values))
			}
		}
	}
	for _, word := range strings.Fields(calls) {
		for _, kind := range callKinds {
			if kind.letter == word[0] {
				p.calls = append(p.calls, call{kind, word[1:]})
			}
		}
	}
	return p
}

func (p program) text() string {
	var text strings.Builder
	for _, s := range settings {
		if n := p.setup[s.letter]; n != 0 {
			fmt.Fprintf(&text, "%c%d", s.letter, n)
		}
	}
	text.WriteByte(':')
	for _, c := range p.calls {
		fmt.Fprintf(&text, " %c%s", c.letter, strings.TrimRight(c.given, "0"))
	}
	return text.String()
}

// GoString is what rapid prints.
func (k callKind) GoString() string { return k.name }
func (c call) GoString() string     { return fmt.Sprintf("%c%s", c.letter, c.given) }

var setups = rapid.Custom(func(t *rapid.T) setup {
	s := setup{}
	for _, of := range settings {
		if rapid.IntRange(0, 9).Draw(t, of.name) > 5 {
			s[of.letter] = rapid.IntRange(0, len(of.values)-1).Draw(t, "value")
		}
	}
	if s['d'] > 0 { // a consumer that the ShutDown wakes might have a token, and take what it drops
		s['q'] = 0
	}
	return s
})

// callKindOf returns the kind with a letter.
func callKindOf(letter rune) callKind {
	at := slices.IndexFunc(callKinds, func(k callKind) bool { return rune(k.letter) == letter })
	return callKinds[at]
}

// kinds returns the kinds of a program, those of all letters if there are none.
func kinds(letters string) (drawn []callKind) {
	for _, letter := range letters {
		drawn = append(drawn, callKindOf(letter))
	}
	for _, kind := range callKinds {
		for range kind.often {
			if letters == "" {
				drawn = append(drawn, kind)
			}
		}
	}
	return drawn
}

// A drawing says which calls are drawn: of some kinds, or of all, with items,
// priorities and sizes of batches up to some, if these are not 0.
type drawing struct {
	delays                          bool // no duration is 0
	kinds                           string
	lastItem, lastPriority, largest rune
}

func (d drawing) draw(t *rapid.T, kinds []callKind) call {
	c := call{callKind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	plain := len(c.arguments) > 2 && rapid.Bool().Draw(t, "plain")
	for _, k := range c.arguments {
		first, last := '0', '9'
		if plain && strings.ContainsRune("dot", k) {
			c.given += "0"
			continue
		}
		switch k {
		case 'i':
			first, last = 'a', rapid.SampledFrom([]rune{'d', max('i', d.lastItem)}).Draw(t, "last")
		case 'd':
			if last = rapid.SampledFrom([]rune{'0', '5', '0' + 12}).Draw(t, "last"); d.delays {
				first, last = '1', max(last, '5')
			}
		case 'o':
			last = '7'
		case 'p':
			last = max('7', d.lastPriority)
		case 'b':
			if last = '4'; d.largest != 0 {
				last = d.largest
			}
		case 't':
			last = '2'
		}
		c.given += string(rapid.RuneFrom([]rune(runes(first, last))).Draw(t, "argument"))
	}
	return c
}

func runes(first, last rune) (all string) {
	for r := first; r <= last; r++ {
		all += string(r)
	}
	return all
}
