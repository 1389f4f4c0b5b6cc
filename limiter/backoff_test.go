package limiter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		"negative start":  {Backoff{Duration: -sec, Factor: 2}, []time.Duration{0, 0}},
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
	require.Equal(t, time.Hour, Jitter(time.Hour, -1))
}
