package limiter

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
)

// A naive limiter returns the bounds of the right delay, which are equal if
// nothing is rounded, and the failures of all items with a history.
type naive interface {
	when(item int, now time.Time) bounds
	forget(item int)
	failures(now time.Time) map[int]int
}

type bounds struct{ least, most time.Duration }

func exactly(d time.Duration) bounds { return bounds{d, d} }

// naivePerItem is a plain map of histories.
type naivePerItem struct {
	delay func(failures int) bounds
	after time.Duration // if it is set, delays must be exact
	items map[int]naiveHistory
}

type naiveHistory struct {
	failures int
	ends     time.Time
}

func (n *naivePerItem) when(item int, now time.Time) bounds {
	failures := n.failures(now)[item]
	delay := n.delay(failures)
	ends := now.Add(delay.least).Add(n.after)
	if h := n.items[item]; h.ends.After(ends) {
		ends = h.ends
	}
	n.items[item] = naiveHistory{failures + 1, ends}
	return delay
}

func (n *naivePerItem) forget(item int) { delete(n.items, item) }

func (n *naivePerItem) failures(now time.Time) map[int]int {
	failures := map[int]int{}
	for item, h := range n.items {
		if n.after == 0 || now.Before(h.ends) {
			failures[item] = h.failures
		}
	}
	return failures
}

// naiveExponential computes base·2ⁿ with numbers of any size.
func naiveExponential(base, limit time.Duration) func(int) bounds {
	return func(failures int) bounds {
		delay := new(big.Int).Lsh(big.NewInt(int64(base)), uint(failures))
		if most := big.NewInt(int64(limit)); delay.Cmp(most) > 0 {
			delay = most
		}
		if delay.Sign() < 0 {
			return exactly(0)
		}
		return exactly(time.Duration(delay.Int64()))
	}
}

// naiveBackoff multiplies once per failure. drawn replaces all random numbers.
func naiveBackoff(b Backoff, drawn float64) func(int) bounds {
	drawn, jitter := max(0, min(drawn, 1)), 0.0
	if b.Jitter > 0 {
		jitter = b.Jitter
	}
	longest, spreadable := forever, float64(forever)
	if b.Cap > 0 {
		longest, spreadable = b.Cap, max(float64(b.Cap)/(1+jitter), 1)
	}
	return func(failures int) bounds {
		delay, spread := float64(max(b.Duration, 0)), 1.0
		for step := range failures {
			if b.Factor > 0 && delay > 0 && (b.Steps == 0 || step < b.Steps) {
				delay *= b.Factor
			}
		}
		if drawn > 0 {
			spread = min(1+drawn*jitter, math.MaxFloat64)
		}
		return rounded(min(delay, spreadable), spread, longest)
	}
}

// rounded returns delay·spread, widened by what rounding may change in either.
func rounded(delay, spread float64, longest time.Duration) bounds {
	const relative, absolute = 1e-9, 2
	if delay == 0 {
		return exactly(0)
	}
	least := max(0, delay*(1-relative)-absolute) * spread
	most := (delay*(1+relative)+absolute)*spread + absolute
	return bounds{min(toDuration(least), longest), min(toDuration(most), longest)}
}

func toDuration(x float64) time.Duration {
	exact, _ := big.NewFloat(max(0, min(x, math.MaxInt64))).Int64() // saturates
	return time.Duration(exact)
}

// naiveBucket is the bucket itself.
type naiveBucket struct{ *rate.Limiter }

func (b naiveBucket) when(_ int, now time.Time) bounds {
	return exactly(b.ReserveN(now, 1).DelayFrom(now))
}
func (b naiveBucket) forget(int)                     {}
func (b naiveBucket) failures(time.Time) map[int]int { return nil }

// naiveMaxOf combines limiters, and limits their delays to longest.
type naiveMaxOf struct {
	parts   []naive
	longest time.Duration
}

func (n naiveMaxOf) when(item int, now time.Time) (b bounds) {
	for _, part := range n.parts {
		other := part.when(item, now)
		b = bounds{max(b.least, other.least), max(b.most, other.most)}
	}
	return bounds{max(0, min(b.least, n.longest)), max(0, min(b.most, n.longest))}
}

func (n naiveMaxOf) forget(item int) {
	for _, part := range n.parts {
		part.forget(item)
	}
}

func (n naiveMaxOf) failures(now time.Time) map[int]int {
	most := map[int]int{}
	for _, part := range n.parts {
		for item, failures := range part.failures(now) {
			most[item] = max(most[item], failures)
		}
	}
	return most
}

// A script is the unread rest of a program: how long histories are kept, a
// limiter, and calls. An example is "9s e1m9s Wa Wa S5m Na". An unknown letter
// stands for a known one, so that every text is a program.
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

// number reads a character as its distance from the digit 0.
func (s *script) number() int { return int(int8(s.byte() - '0')) }

// duration reads a number and a unit: n, m, s, H or y. With the unit z, the
// number selects an extreme.
func (s *script) duration() time.Duration {
	number, unit := s.number(), s.byte()
	extremes := []time.Duration{0, -1, math.MinInt64, forever, forever - 1, 1 << 62, 1<<62 + 1, math.MinInt64 + 1}
	if unit == 'z' {
		return extremes[uint(number)%uint(len(extremes))]
	}
	units := map[byte]time.Duration{'m': ms, 's': sec, 'H': time.Hour, 'y': 365 * 24 * time.Hour}
	return time.Duration(number) * max(units[unit], 1)
}

// float reads a digit as itself, or a letter as an extreme or a fraction.
func (s *script) float() float64 {
	b := s.byte()
	if x, ok := map[byte]float64{
		'N': math.NaN(), 'I': math.Inf(1), 'J': math.Inf(-1), 'R': float64(rate.Inf), 'h': 0.5,
		'x': 1.0000001, 'e': 1e300, 's': 1e-300, 'k': 1000, 't': 0.1,
	}[b]; ok {
		return x
	}
	return float64(int8(b - '0'))
}

// limiter reads a letter for a limiter, and then its parameters in order.
func (s *script) limiter(o Options, depth int) (Limiter[int], naive) {
	s.more()
	kind := s.byte()
	if depth == 0 && (kind == 'm' || kind == 'w') {
		kind = 'e'
	}
	perItem := func(delay func(int) bounds, after time.Duration) naive {
		return &naivePerItem{delay, after, map[int]naiveHistory{}}
	}
	switch kind {
	case 'f':
		fast, slow, attempts := s.duration(), s.duration(), s.number()
		return NewFastSlow[int](fast, slow, attempts, o), perItem(func(failures int) bounds {
			if failures+1 <= attempts {
				return exactly(max(0, fast))
			}
			return exactly(max(0, slow))
		}, o.ForgetAfter)
	case 'o':
		b := Backoff{Duration: s.duration(), Factor: s.float(), Jitter: s.float(), Steps: s.number(), Cap: s.duration()}
		drawn := float64(s.number()) / 9
		return NewItemBackoff[int](b, Options{Random: always(drawn)}), perItem(naiveBackoff(b, drawn), 0)
	case 'b':
		limit, burst := rate.Limit(s.float()), s.number()
		return NewBucket[int](rate.NewLimiter(limit, burst), o), naiveBucket{rate.NewLimiter(limit, burst)}
	case 'm':
		var limiters []Limiter[int]
		var models []naive
		for range s.number() & 3 {
			l, m := s.limiter(o, depth-1)
			limiters, models = append(limiters, l), append(models, m)
		}
		return NewMaxOf(limiters...), naiveMaxOf{models, forever}
	case 'w':
		longest := s.duration()
		l, m := s.limiter(o, depth-1)
		return NewWithMaxWait(l, longest), naiveMaxOf{[]naive{m}, longest}
	}
	base, longest := s.duration(), s.duration()
	return NewExponential[int](base, longest, o), perItem(naiveExponential(base, longest), o.ForgetAfter)
}

func playScript(t require.TestingT, text string) {
	s, fake := script(text), clock.NewFake(start)
	o := Options{Clock: fake, ForgetAfter: max(0, s.duration())}
	limiter, model := s.limiter(o, 3)
	for calls := 0; calls < 2000 && s.more(); {
		call, times := s.byte(), 1
		if call == '*' { // *n repeats the call n times
			times, call = int(s.byte()-'0'), s.byte()
		}
		if !strings.ContainsRune("WFNSwf", rune(call)) {
			call = "WFNS"[call%4]
		}
		if call == 'S' {
			fake.Step(steppable(fake.Now().Sub(start), s.duration(), o.ForgetAfter > 0))
			continue
		}
		first, items := int(s.byte()-'a'), 1
		if call == 'w' || call == 'f' { // the same for many items
			items = 200
		}
		for item := first; item < first+items; item++ {
			for range times {
				calls++
				play(t, limiter, model, call&^' ', item, fake.Now())
			}
		}
	}
	checkCensus(t, limiter.(Census[int]), model.failures(fake.Now()))
}

// play makes a call and compares.
func play(t require.TestingT, limiter Limiter[int], model naive, call byte, item int, now time.Time) {
	switch call {
	case 'W':
		got, want := limiter.When(item), model.when(item, now)
		require.True(t, got >= 0 && got >= want.least && got <= want.most, "When(%d) = %v, want %v", item, got, want)
	case 'F':
		limiter.Forget(item)
		model.forget(item)
	}
	require.Equal(t, model.failures(now)[item], limiter.NumRequeues(item), "NumRequeues(%d)", item)
}

func checkCensus(t require.TestingT, census Census[int], failures map[int]int) {
	want := []int{}
	for _, n := range failures {
		want = append(want, n)
	}
	slices.Sort(want)
	slices.Reverse(want)
	require.GreaterOrEqual(t, census.Len(), len(want))
	for _, limit := range []int{-1, 1, 10, math.MaxInt} {
		got := []int{}
		for _, f := range census.MostFailed(limit) {
			require.Equal(t, failures[f.Item], f.Failures)
			got = append(got, f.Failures)
		}
		require.Equal(t, want[:max(0, min(limit, len(want)))], got)
	}
}

// steppable limits a step to the range of clocks. If histories expire, the
// clock does not go back, because the model never sweeps them.
func steppable(elapsed, d time.Duration, expires bool) time.Duration {
	switch {
	case d > 0:
		return min(d, forever-1-max(elapsed, 0))
	case expires:
		return 0
	}
	return max(d, -forever/2-elapsed)
}

// FuzzLimiter plays scripts. Those in testdata are named after what they try.
func FuzzLimiter(f *testing.F) { f.Fuzz(func(t *testing.T, text string) { playScript(t, text) }) }

func TestC29C31PerItemLimitersBehaveAsTheirModels(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("efobmwfWWWWFNSSabc0123459/.nmsHyzNIJRhxe *")), 10, 200, -1)
	rapid.Check(t, func(rt *rapid.T) { playScript(rt, text.Draw(rt, "script")) })
}
