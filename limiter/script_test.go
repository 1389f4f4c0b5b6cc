package limiter

import (
	"math"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// A script is the unread rest of the input.
type script string

func (s *script) more() bool {
	*s = script(strings.TrimLeft(string(*s), " "))
	return *s != ""
}

func (s *script) byte() byte {
	if *s == "" {
		return '0'
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// number reads a character as its distance from the digit 0, so that digits
// stand for themselves.
func (s *script) number() int { return int(int8(s.byte() - '0')) }

// duration reads a number and a unit: n, m, s, H or y. With the unit z, the
// number selects an extreme.
func (s *script) duration() time.Duration {
	number, unit := s.number(), s.byte()
	extremes := []time.Duration{0, -1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 1<<62 + 1, math.MinInt64 + 1}
	if unit == 'z' {
		return extremes[uint(number)%uint(len(extremes))]
	}
	units := map[byte]time.Duration{'m': time.Millisecond, 's': time.Second, 'H': time.Hour, 'y': 365 * 24 * time.Hour}
	return time.Duration(number) * max(units[unit], 1)
}

// float reads a digit as itself, or a letter as an extreme or a fraction.
func (s *script) float() float64 {
	letters := map[byte]float64{
		'N': math.NaN(), 'I': math.Inf(1), 'J': math.Inf(-1), 'R': float64(rate.Inf), 'h': 0.5,
		'x': 1.0000001, 'e': 1e300, 's': 1e-300, 'k': 1000, 't': 0.1,
	}
	b := s.byte()
	if x, ok := letters[b]; ok {
		return x
	}
	return float64(int8(b - '0'))
}

// manyItems is the number of items of a call in lower case.
const manyItems = 200

// call reads a letter for a method, or S for a step, and an item, of which a is
// the first. The prefix *n repeats the call n times. A letter in lower case
// calls the method for manyItems.
func (s *script) call() (call byte, times, item int) {
	call, times = s.byte(), 1
	if call == '*' {
		times = int(s.byte() - '0')
		call = s.byte()
	}
	if !strings.ContainsRune("WFNSwf", rune(call)) {
		call = "WFNS"[call%4]
	}
	if call != 'S' {
		item = int(s.byte() - 'a')
	}
	return call, times, item
}

// forgetAfter reads Options.ForgetAfter, which comes first.
func (s *script) forgetAfter() time.Duration { return s.duration() }

// deepest limits how deeply limiters are nested.
const deepest = 3

// limiter reads a letter for a limiter, and then its parameters in order.
func (s *script) limiter(p *playing, depth int) (Limiter[int], naive) {
	s.more()
	kind := s.byte()
	if depth == 0 && strings.ContainsRune("mw", rune(kind)) {
		kind = 'e'
	}
	switch kind {
	case 'f':
		fast, slow, attempts := s.duration(), s.duration(), s.number()
		p.record("NewFastSlow(%v, %v, %d, %v)", fast, slow, attempts, p.options.ForgetAfter)
		return NewFastSlow[int](fast, slow, attempts, p.options), newExact(p.options, modelFastSlow(fast, slow, attempts))
	case 'o':
		b := Backoff{Duration: s.duration(), Factor: s.float(), Jitter: s.float(), Steps: s.number(), Cap: s.duration()}
		drawn := float64(s.number()) / 9
		p.record("NewItemBackoff(%+v), and %v for all random numbers", b, drawn)
		return NewItemBackoff[int](b, Options{Random: always(drawn)}), &naiveBackoff{b, drawn, map[int]int{}}
	case 'b':
		limit, burst := rate.Limit(s.float()), s.number()
		p.record("NewBucket(%v, %d)", limit, burst)
		return NewBucket[int](rate.NewLimiter(limit, burst), p.options), &naiveBucket{limit: float64(limit), burst: float64(burst), tokens: float64(burst), last: start}
	case 'm':
		var limiters []Limiter[int]
		var models naiveMaxOf
		n := s.number() & 3
		p.record("NewMaxOf of the next %d", n)
		for range n {
			l, m := s.limiter(p, depth-1)
			limiters, models = append(limiters, l), append(models, m)
		}
		return NewMaxOf(limiters...), models
	case 'w':
		longest := s.duration()
		p.record("NewWithMaxWait(%v) of the next", longest)
		l, m := s.limiter(p, depth-1)
		return NewWithMaxWait(l, longest), naiveMaxWait{m, longest}
	default:
		base, longest := s.duration(), s.duration()
		p.record("NewExponential(%v, %v, %v)", base, longest, p.options.ForgetAfter)
		return NewExponential[int](base, longest, p.options), newExact(p.options, modelExponential(base, longest))
	}
}
