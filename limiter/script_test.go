package limiter

import (
	"math"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// A script is what is left of the input.
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

// number reads a letter as a number: a digit stands for itself, and so do the letters
// before and after the digits.
func (s *script) number() int { return int(int8(s.byte() - '0')) }

// duration reads a number and a unit: n, m, s, H or y. With z, the number chooses an
// extreme.
func (s *script) duration() time.Duration {
	number, unit := s.number(), s.byte()
	extremes := []time.Duration{0, -1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, 1 << 62, 1<<62 + 1, math.MinInt64 + 1}
	if unit == 'z' {
		return extremes[uint(number)%uint(len(extremes))]
	}
	units := map[byte]time.Duration{'m': time.Millisecond, 's': time.Second, 'H': time.Hour, 'y': 365 * 24 * time.Hour}
	return time.Duration(number) * max(units[unit], 1)
}

// float reads a number, or a letter for one that is out of the ordinary.
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

// crowd is the number of items that a call in lower case is made for.
const crowd = 200

// call reads a letter for a method, or S for a step, and an item: a is the first. With
// *n before it, the call is made n times. In lower case it is made for a crowd.
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

// forgetAfter reads Options.ForgetAfter. It comes first.
func (s *script) forgetAfter() time.Duration { return s.duration() }

// deepest is how many limiters may be inside each other.
const deepest = 3

// limiter reads a limiter: a letter, and its parameters in their order.
func (s *script) limiter(p *playing, depth int) (Limiter[int], naive) {
	s.more()
	kind := s.byte()
	if depth == 0 && strings.ContainsRune("mw", rune(kind)) {
		kind = 'e'
	}
	switch kind {
	case 'f':
		fast, slow, attempts := s.duration(), s.duration(), s.number()
		p.tell("NewFastSlow(%v, %v, %d, %v)", fast, slow, attempts, p.options.ForgetAfter)
		return NewFastSlow[int](fast, slow, attempts, p.options), newExact(p.options, modelFastSlow(fast, slow, attempts))
	case 'o':
		b := Backoff{Duration: s.duration(), Factor: s.float(), Jitter: s.float(), Steps: s.number(), Cap: s.duration()}
		drawn := float64(s.number()) / 9
		p.tell("NewItemBackoff(%+v), and %v for all random numbers", b, drawn)
		return NewItemBackoff[int](b, Options{Random: always(drawn)}), &naiveBackoff{b, drawn, map[int]int{}}
	case 'b':
		limit, burst := rate.Limit(s.float()), s.number()
		p.tell("NewBucket(%v, %d)", limit, burst)
		return NewBucket[int](rate.NewLimiter(limit, burst), p.options), &naiveBucket{limit: float64(limit), burst: float64(burst), tokens: float64(burst), last: start}
	case 'm':
		var limiters []Limiter[int]
		var models naiveMaxOf
		n := s.number() & 3
		p.tell("NewMaxOf of the next %d", n)
		for range n {
			l, m := s.limiter(p, depth-1)
			limiters, models = append(limiters, l), append(models, m)
		}
		return NewMaxOf(limiters...), models
	case 'w':
		longest := s.duration()
		p.tell("NewWithMaxWait(%v) of the next", longest)
		l, m := s.limiter(p, depth-1)
		return NewWithMaxWait(l, longest), naiveMaxWait{m, longest}
	default:
		base, longest := s.duration(), s.duration()
		p.tell("NewExponential(%v, %v, %v)", base, longest, p.options.ForgetAfter)
		return NewExponential[int](base, longest, p.options), newExact(p.options, modelExponential(base, longest))
	}
}
