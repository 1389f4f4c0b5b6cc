package limiter

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func requireSteps(t *testing.T, b *Backoff, want ...time.Duration) {
	t.Helper()
	for i, w := range want {
		require.Equal(t, w, b.Step(), "step %d", i+1)
	}
}

func TestC32BackoffStep(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	cases := []struct {
		name string
		Backoff
		want []time.Duration
	}{
		{"zero value", Backoff{}, []time.Duration{0, 0, 0}},
		{"no factor", Backoff{Duration: sec, Steps: 2}, []time.Duration{sec, sec, sec}},
		{"negative steps", Backoff{Duration: sec, Factor: 2, Steps: -1}, []time.Duration{sec, sec, sec}},
		{"no steps", Backoff{Duration: sec, Factor: 2}, []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec}},
		{"no steps, cap", Backoff{Duration: sec, Factor: 2, Cap: 3 * sec}, []time.Duration{sec, 2 * sec, 3 * sec, 3 * sec}},
		{"no steps, overflow", Backoff{Duration: forever/2 + 1, Factor: 2}, []time.Duration{forever/2 + 1, forever, forever}},
		{"no steps, no factor", Backoff{Duration: sec, Cap: 3 * sec}, []time.Duration{sec, sec}},
		{"one step", Backoff{Duration: sec, Factor: 2, Steps: 1}, []time.Duration{sec, 2 * sec, 2 * sec}},
		{"steps used up", Backoff{Duration: sec, Factor: 2, Steps: 3}, []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 8 * sec}},
		{"cap", Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 3 * sec}, []time.Duration{sec, 2 * sec, 3 * sec, 3 * sec}},
		{"cap met exactly", Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 4 * sec}, []time.Duration{sec, 2 * sec, 4 * sec, 4 * sec}},
		{"first above cap", Backoff{Duration: 5 * sec, Factor: 2, Steps: 9, Cap: 3 * sec}, []time.Duration{5 * sec, 3 * sec, 3 * sec}},
		{"above cap, no growth", Backoff{Duration: 5 * sec, Steps: 9, Cap: 3 * sec}, []time.Duration{5 * sec, 5 * sec}},
		{"negative cap", Backoff{Duration: sec, Factor: 2, Steps: 2, Cap: -1}, []time.Duration{sec, 2 * sec, 4 * sec, 4 * sec}},
		{"shrinking", Backoff{Duration: 8, Factor: 0.5, Steps: 9}, []time.Duration{8, 4, 2, 1, 0, 0}},
		{"fraction dropped", Backoff{Duration: 1, Factor: 1.9, Steps: 9}, []time.Duration{1, 1, 1}},
		{"negative duration", Backoff{Duration: -sec, Factor: 2, Steps: 9}, []time.Duration{0, 0}},
		{"negative factor", Backoff{Duration: sec, Factor: -2, Steps: 9}, []time.Duration{sec, sec}},
		{"factor NaN", Backoff{Duration: sec, Factor: nan, Steps: 9}, []time.Duration{sec, sec}},
		{"factor infinite", Backoff{Duration: sec, Factor: inf, Steps: 9}, []time.Duration{sec, forever, forever}},
		{"factor infinite of nothing", Backoff{Factor: inf, Steps: 9}, []time.Duration{0, 0}},
		{"overflow", Backoff{Duration: forever/2 + 1, Factor: 2, Steps: 9}, []time.Duration{forever/2 + 1, forever, forever}},
		{"overflow into cap", Backoff{Duration: forever / 2, Factor: 3, Steps: 9, Cap: forever - 1}, []time.Duration{forever / 2, forever - 1}},
		{"negative jitter", Backoff{Duration: sec, Jitter: -1}, []time.Duration{sec, sec}},
		{"jitter NaN", Backoff{Duration: sec, Jitter: nan}, []time.Duration{sec, sec}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { requireSteps(t, &c.Backoff, c.want...) })
	}
}

func TestC32NilBackoffReturnsZero(t *testing.T) {
	var none *Backoff
	requireSteps(t, none, 0, 0)
	require.Zero(t, none.StepWith(nil))
}

func TestC32StepUsesUpTheFields(t *testing.T) {
	b := Backoff{Duration: sec, Factor: 2, Steps: 5, Cap: 3 * sec, Jitter: 1}
	b.StepWith(always(0.9))
	require.Equal(t, Backoff{Duration: 2 * sec, Factor: 2, Steps: 4, Cap: 3 * sec, Jitter: 1}, b, "jitter must not accumulate")
	b.Step()
	require.Equal(t, Backoff{Duration: 3 * sec, Factor: 2, Steps: -1, Cap: 3 * sec, Jitter: 1}, b, "reaching Cap must use up the steps")
	negative := Backoff{Duration: -sec, Factor: 2, Steps: -4}
	negative.Step()
	require.Equal(t, Backoff{Factor: 2, Steps: -4}, negative)
}

func TestC32JitterRule(t *testing.T) {
	cases := []struct{ jitter, random, want float64 }{
		{0.5, 0, 1}, {0.5, 0.5, 1.25}, {4, 0.25, 2}, {1, 1 - 1.0/1024, 2 - 1.0/1024},
		{1, 1, 2}, {1, 7, 2}, {1, math.Inf(1), 2}, // a random source outside of its range
		{1, -1, 1}, {1, math.Inf(-1), 1}, {1, math.NaN(), 1},
	}
	for _, c := range cases {
		b := Backoff{Duration: 1024 * ms, Jitter: c.jitter}
		want := time.Duration(c.want * float64(1024*ms))
		require.Equal(t, want, b.StepWith(always(c.random)), "%+v", c)
	}
}

func TestC32JitterOverflow(t *testing.T) {
	for _, jitter := range []float64{1, 1e9, math.MaxFloat64, math.Inf(1)} {
		b := Backoff{Duration: forever - 5, Jitter: jitter}
		require.Equal(t, forever, b.StepWith(always(0.5)), "jitter %g", jitter)
		require.Equal(t, forever-5, b.StepWith(always(0)), "jitter %g", jitter)
		nothing := Backoff{Jitter: jitter}
		require.Zero(t, nothing.StepWith(always(0.5)), "jitter %g", jitter)
	}
}

func TestC32JitterIsOnTopOfTheCap(t *testing.T) {
	b := Backoff{Duration: sec, Factor: 10, Steps: 9, Cap: 2 * sec, Jitter: 1}
	b.Step()
	require.Equal(t, 3*sec, b.StepWith(always(0.5)))
}

func TestC32RandomIsDrawnOnlyForJitter(t *testing.T) {
	never := func() float64 { t.Fatal("drawn without jitter"); return 0 }
	b := Backoff{Duration: sec, Factor: 2, Steps: 3}
	b.StepWith(never)
	NewItemBackoff[string](b, Options{Random: never}).When("x")
	NewManager(b, Options{Random: never}).Step()
}

func TestC32DefaultJitterIsRandomAndWithinItsRange(t *testing.T) {
	b := Backoff{Duration: time.Hour, Jitter: 0.5}
	seen := map[time.Duration]bool{}
	for range 100 {
		d := b.Step()
		require.GreaterOrEqual(t, d, time.Hour)
		require.Less(t, d, time.Hour+time.Hour/2)
		seen[d] = true
	}
	require.Greater(t, len(seen), 90)
}

func TestC32ItemBackoffFollowsStep(t *testing.T) {
	recipes := []Backoff{
		{Duration: 10 * ms, Factor: 2, Steps: 5},
		{Duration: 10 * ms, Factor: 2, Steps: 100, Cap: 7 * sec},
		{Duration: 10 * ms, Factor: 5, Steps: 4, Cap: sec},
		{Duration: 10 * ms, Factor: 3, Steps: 15}, // Step rounds beyond 2⁵³ ns
		{Duration: 10 * ms, Steps: 5, Cap: sec},
		{Duration: 10 * ms, Factor: 2},
		{Duration: 10 * ms, Factor: 2, Cap: 7 * sec},
		{Duration: 10 * ms, Factor: 2, Steps: -1},
		{Duration: 1024, Factor: 0.5, Steps: 9},
		{Duration: -1, Factor: 2, Steps: 9},
	}
	for _, recipe := range recipes {
		t.Run(fmt.Sprintf("%+v", recipe), func(t *testing.T) {
			l := NewItemBackoff[string](recipe)
			steps := recipe
			for range 100 {
				requireDelays(t, l, "x", steps.Step())
			}
			l.Forget("x")
			requireDelays(t, l, "x", max(recipe.Duration, 0))
		})
	}
}

func TestC32ItemBackoffFollowsStepButForRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recipe := Backoff{
			Duration: time.Duration(rapid.Int64Range(int64(ms), int64(sec)).Draw(t, "duration")),
			Factor:   rapid.Float64Range(1, 4).Draw(t, "factor"),
			Steps:    rapid.IntRange(-1, 30).Draw(t, "steps"),
			Cap:      time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "cap")),
		}
		steps := recipe
		delay := recipe.curve()
		for n := range 40 {
			want, got := steps.Step(), delay(n, 0)
			if recipe.Cap > 0 {
				want = min(want, recipe.Cap)
			}
			require.InEpsilon(t, 1+float64(want), 1+float64(got), 1e-4, "failure %d", n+1)
		}
	})
}

func TestC30H16ItemBackoffStaysWithinCapWithJitter(t *testing.T) {
	floats := []float64{0, -1, 1e-300, 0.1, 1, 1.5, 2, 1e9, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, duration := range extremeDurations {
		for _, limit := range extremeDurations {
			for _, factor := range floats {
				for _, jitter := range floats {
					b := Backoff{Duration: duration, Factor: factor, Jitter: jitter, Steps: math.MaxInt, Cap: limit}
					delay := b.curve()
					for _, n := range []int{0, 1, 2, 62, 63, 64, 1_000_000, maxFailures} {
						for _, random := range []float64{0, 0.5, 1} {
							d := delay(n, random)
							if d < 0 || limit > 0 && d > limit {
								t.Fatalf("%+v: %d failures, random %g: %d", b, n, random, d)
							}
						}
					}
				}
			}
		}
	}
}

func TestC30ItemBackoffIsStillSpreadAtItsCap(t *testing.T) {
	b := Backoff{Duration: sec, Factor: 2, Jitter: 0.5, Steps: 100, Cap: 30 * sec}
	delay := b.curve()
	require.Equal(t, 20*sec, delay(50, 0))
	require.Equal(t, 25*sec, delay(50, 0.5))
	require.Equal(t, 30*sec, delay(50, 1))
	enormous := Backoff{Duration: sec, Jitter: math.MaxFloat64, Cap: sec}
	require.Equal(t, sec, enormous.curve()(0, 0.5), "no jitter may make a delay vanish")
}

func TestC32ItemBackoffDrawsFromTheGivenSource(t *testing.T) {
	b := Backoff{Duration: sec, Factor: 2, Jitter: 1, Steps: 10}
	requireDelays(t, NewItemBackoff[string](b, Options{Random: always(0.5)}), "x", 1500*ms, 3*sec, 6*sec)
	requireDelays(t, NewItemBackoff[string](b, Options{Random: always(9)}), "x", 2*sec)
	requireDelays(t, NewItemBackoff[string](b, Options{Random: always(math.NaN())}), "x", sec)
}

// FuzzBackoffStep checks, for any fields, the promises of Step, and the bounds
// of the item limiter with the same fields.
func FuzzBackoffStep(f *testing.F) {
	f.Add(int64(sec), 2.0, 0.5, 5, int64(time.Minute), 0.5)
	f.Add(int64(-1), -1.0, math.NaN(), -1, int64(-1), math.NaN())
	f.Add(int64(math.MaxInt64), math.Inf(1), math.Inf(1), math.MaxInt, int64(math.MaxInt64), 1.0)
	f.Add(int64(1), 1.5, 1e300, 100, int64(3), 0.999)
	f.Fuzz(func(t *testing.T, duration int64, factor, jitter float64, steps int, limit int64, random float64) {
		b := Backoff{Duration: time.Duration(duration), Factor: factor, Jitter: jitter, Steps: steps, Cap: time.Duration(limit)}
		limited := b.curve()
		for n := range 70 {
			before := b
			delay := b.StepWith(always(random))
			checkStep(t, before, b, delay)
			if d := limited(n, unit(random)); d < 0 || limit > 0 && d > time.Duration(limit) {
				t.Fatalf("%+v: limiter's delay %d after %d failures", before, d, n)
			}
		}
	})
}

func checkStep(t *testing.T, before, after Backoff, delay time.Duration) {
	t.Helper()
	base := max(before.Duration, 0)
	if delay < base {
		t.Fatalf("%+v: delay %d is shorter than Duration", before, delay)
	}
	if !(before.Jitter > 0) && delay != base {
		t.Fatalf("%+v: delay %d without jitter", before, delay)
	}
	if most := float64(base) * (1 + before.Jitter) * (1 + 1e-9); base > 0 && before.Jitter > 0 && float64(delay) > most {
		t.Fatalf("%+v: delay %d has too much jitter", before, delay)
	}
	if after.Factor != before.Factor && before.Factor == before.Factor || after.Cap != before.Cap {
		t.Fatalf("%+v: became %+v", before, after)
	}
	switch grew := after.Duration > base; {
	case after.Duration < 0, after.Steps > before.Steps:
		t.Fatalf("%+v: became %+v", before, after)
	case before.Steps < 0 && (after.Duration != base || after.Steps != before.Steps):
		t.Fatalf("%+v: changed without steps: %+v", before, after)
	case before.Steps > 0 && (after.Steps == before.Steps || after.Steps == 0):
		t.Fatalf("%+v: took no step: %+v", before, after)
	case grew && !(before.Factor > 1):
		t.Fatalf("%+v: grew without a factor: %+v", before, after)
	case grew && before.Cap > 0 && after.Duration > before.Cap:
		t.Fatalf("%+v: grew beyond the cap: %+v", before, after)
	}
}
