package limiter

import (
	"sync"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
)

func requireManagerSteps(t *testing.T, m *Manager, want ...time.Duration) {
	t.Helper()
	for i, w := range want {
		require.Equal(t, w, m.Step(), "step %d", i+1)
	}
}

func TestC32ManagerStartsOverAfterAQuietPeriod(t *testing.T) {
	o, fake := expiring(10 * sec)
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9, Cap: 8 * sec}, o)
	requireManagerSteps(t, m, 1*sec, 2*sec, 4*sec)

	fake.Step(14*sec - 1) // one nanosecond before the quiet period ends
	requireManagerSteps(t, m, 8*sec)
	fake.Step(18 * sec)
	requireManagerSteps(t, m, 1*sec, 2*sec)
}

func TestC32ManagerWithDelaysLongerThanTheQuietPeriod(t *testing.T) {
	o, fake := expiring(sec)
	m := NewManager(Backoff{Duration: 10 * sec, Factor: 2, Steps: 9}, o)
	for _, want := range []time.Duration{10 * sec, 20 * sec, 40 * sec} {
		requireManagerSteps(t, m, want)
		fake.Step(want) // the delay has just expired
	}
}

func TestC32ManagerCountsFromTheLatestEnd(t *testing.T) {
	o, fake := expiring(sec)
	random := 0.0
	o.Random = func() float64 { random = 1 - random; return random }
	m := NewManager(Backoff{Duration: sec, Factor: 2, Jitter: 9, Steps: 9}, o)
	requireManagerSteps(t, m, 10*sec, 2*sec) // the longer delay first
	fake.Step(11*sec - 1)
	requireManagerSteps(t, m, 40*sec)
}

func TestC32ManagerReset(t *testing.T) {
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9})
	requireManagerSteps(t, m, 1*sec, 2*sec, 4*sec)
	m.Reset()
	requireManagerSteps(t, m, 1*sec, 2*sec)
}

func TestC32ManagerWithoutAQuietPeriodNeverStartsOver(t *testing.T) {
	fake := clock.NewFake(start)
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 2}, Options{Clock: fake})
	requireManagerSteps(t, m, 1*sec, 2*sec)
	fake.Step(1000 * time.Hour)
	requireManagerSteps(t, m, 4*sec, 4*sec)
}

func TestC32ManagerLeavesTheRecipeAlone(t *testing.T) {
	recipe := Backoff{Duration: sec, Factor: 2, Steps: 9}
	NewManager(recipe).Step()
	require.Equal(t, Backoff{Duration: sec, Factor: 2, Steps: 9}, recipe)
}

func TestC32ManagerHugeDelaysNeverEnd(t *testing.T) {
	o, fake := expiring(sec)
	m := NewManager(Backoff{Duration: forever, Factor: 2, Steps: 9, Cap: forever}, o)
	requireManagerSteps(t, m, forever)
	fake.Step(forever - 1)
	m.Step()
	require.Less(t, m.current.Steps, 9, "started over while the delay ran")
}

func TestC32ManagerClockThatJumpsBackward(t *testing.T) {
	o, fake := expiring(10 * sec)
	m := NewManager(Backoff{Duration: sec, Factor: 2, Steps: 9}, o)
	requireManagerSteps(t, m, 1*sec)
	fake.Step(-time.Hour)
	requireManagerSteps(t, m, 2*sec, 4*sec)
	fake.Step(time.Hour + 11*sec)
	requireManagerSteps(t, m, 1*sec)
}

func TestC32ManagerIsSafeForConcurrentUse(t *testing.T) {
	o, _ := expiring(time.Hour)
	m := NewManager(Backoff{Duration: 1, Factor: 2, Steps: 40}, o)
	var group sync.WaitGroup
	seen := make([]time.Duration, 40)
	for i := range seen {
		group.Go(func() { seen[i] = m.Step() })
	}
	group.Wait()
	distinct := map[time.Duration]bool{}
	for _, d := range seen {
		distinct[d] = true
	}
	require.Len(t, distinct, 40, "two callers got the same step")
}
