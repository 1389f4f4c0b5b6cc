package limiter

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestC32BackoffStep(t *testing.T) {
	for name, c := range map[string]struct {
		Backoff
		want []time.Duration
	}{
		"no factor":       {Backoff{Duration: sec, Steps: 2}, []time.Duration{sec, sec, sec}},
		"negative steps":  {Backoff{Duration: sec, Factor: 2, Steps: -1}, []time.Duration{sec, sec}},
		"no steps":        {Backoff{Duration: sec, Factor: 2, Cap: 3 * sec}, []time.Duration{sec, 2 * sec, 3 * sec, 3 * sec}},
		"overflow":        {Backoff{Duration: forever/2 + 1, Factor: 2}, []time.Duration{forever/2 + 1, forever, forever}},
		"steps used up":   {Backoff{Duration: sec, Factor: 2, Steps: 2}, []time.Duration{sec, 2 * sec, 4 * sec, 4 * sec}},
		"cap met exactly": {Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 4 * sec}, []time.Duration{sec, 2 * sec, 4 * sec, 4 * sec}},
		"first above cap": {Backoff{Duration: 5 * sec, Factor: 2, Steps: 9, Cap: 3 * sec}, []time.Duration{5 * sec, 3 * sec, 3 * sec}},
		"shrinking":       {Backoff{Duration: 8, Factor: 0.5, Steps: 9}, []time.Duration{8, 4, 2, 1, 0, 0}},
		"negative factor": {Backoff{Duration: sec, Factor: -2, Steps: 9}, []time.Duration{sec, sec}},
		"factor NaN":      {Backoff{Duration: sec, Factor: math.NaN(), Steps: 9}, []time.Duration{sec, sec}},
		"infinite factor": {Backoff{Factor: math.Inf(1), Steps: 9}, []time.Duration{0, 0}},
		"negative jitter": {Backoff{Duration: sec, Jitter: -1}, []time.Duration{sec, sec}},
	} {
		for i, want := range c.want {
			require.Equal(t, want, c.Backoff.Step(), "%s: step %d", name, i+1)
		}
	}
	require.Zero(t, (*Backoff)(nil).Step())
	capped := Backoff{Duration: 2 * sec, Factor: 2, Cap: 3 * sec}
	capped.Step()
	require.Equal(t, Backoff{Duration: 3 * sec, Factor: 2, Cap: 3 * sec, Steps: -1}, capped)
}

func TestC32JitterRule(t *testing.T) {
	for _, c := range []struct{ jitter, random, want float64 }{
		{0.5, 0, 1}, {0.5, 0.5, 1.25}, {4, 0.25, 2}, {1, 1, 2}, {1, 7, 2}, {1, math.Inf(1), 2}, {1, -1, 1}, {1, math.NaN(), 1},
	} {
		l := NewItemBackoff[string](Backoff{Duration: 1024 * ms, Jitter: c.jitter}, Options{Random: always(c.random)})
		require.Equal(t, time.Duration(c.want*float64(1024*ms)), l.When("x"), "%+v", c)
	}
	for _, jitter := range []float64{1, math.MaxFloat64, math.Inf(1)} {
		b := Backoff{Duration: forever - 5, Jitter: jitter}
		require.Equal(t, forever, b.step(0.5), "jitter %g", jitter)
		require.Equal(t, forever-5, b.step(0), "jitter %g", jitter)
	}
	capped := Backoff{Duration: 2 * sec, Cap: 2 * sec, Jitter: 1}
	require.Equal(t, 3*sec, capped.step(0.5), "jitter is on top of the Cap")
	capped.Jitter = math.Inf(1)
	require.Equal(t, 2*sec, capped.curve()(0, 0.5), "no jitter makes an item's delay vanish")
	own := Backoff{Duration: time.Hour, Jitter: 0.5}
	require.NotEqual(t, own.Step(), own.Step())
}

func TestC32Jitter(t *testing.T) {
	for _, c := range []struct {
		d, most time.Duration
		factor  float64
	}{
		{time.Hour, time.Hour + 6*time.Minute, 0.1}, {time.Hour, 3 * time.Hour, 2},
		{time.Hour, time.Hour, 0}, {time.Hour, time.Hour, -1}, {time.Hour, time.Hour, math.NaN()},
		{-time.Hour, 0, 1}, {0, 0, 1}, {forever / 4 * 3, forever, 1},
	} {
		least, most := forever, time.Duration(0)
		for range 1000 {
			d := Jitter(c.d, c.factor)
			least, most = min(least, d), max(most, d)
		}
		spread := c.most - max(c.d, 0)
		require.GreaterOrEqual(t, least, max(c.d, 0), "%+v", c)
		require.LessOrEqual(t, least, max(c.d, 0)+spread/10, "%+v", c)
		require.LessOrEqual(t, most, c.most, "%+v", c)
		require.GreaterOrEqual(t, most, c.most-spread/10, "%+v", c)
	}
}

// TestC30H16ItemBackoffStaysWithinCapWithJitter also checks what Step promises,
// for any fields.
func TestC30H16ItemBackoffStaysWithinCapWithJitter(t *testing.T) {
	floats := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 4), rapid.SampledFrom([]float64{0, 1, math.Inf(1), math.Inf(-1), math.NaN()}))
	times := rapid.Map(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1, 100), rapid.Just(int64(forever))), func(d int64) time.Duration { return time.Duration(d) })
	rapid.Check(t, func(t *rapid.T) {
		b := Backoff{
			Duration: times.Draw(t, "duration"), Factor: floats.Draw(t, "factor"), Jitter: floats.Draw(t, "jitter"),
			Steps: rapid.OneOf(rapid.Int(), rapid.IntRange(-1, 5)).Draw(t, "steps"), Cap: times.Draw(t, "cap"),
		}
		random, limited := rapid.Float64Range(0, 1).Draw(t, "random"), b.curve()
		for _, failures := range []int{0, 1, 2, 62, 63, 64, 1_000_000, math.MaxInt32} {
			d := limited(failures, random)
			require.False(t, d < 0 || b.Cap > 0 && d > b.Cap, "%v after %d failures", d, failures)
		}
		for range 70 {
			before, base := b, max(b.Duration, 0)
			delay := b.step(random)
			plain := before
			plain.Jitter = 0
			plain.step(0)
			require.Equal(t, plain.Duration, b.Duration, "jitter accumulates")
			state := fmt.Sprintf("%+v: %v, then %+v", before, delay, b)
			require.GreaterOrEqual(t, delay, base, state)
			require.True(t, before.Jitter > 0 || delay == base, state)
			require.False(t, b.Duration < 0 || b.Steps > before.Steps || before.Steps > 0 && (b.Steps == before.Steps || b.Steps == 0), state)
			if b.Duration > base {
				require.True(t, before.Steps >= 0 && before.Factor > 1 && (b.Cap <= 0 || b.Duration <= b.Cap), state)
			}
		}
	})
}
