package worker

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const trafficFile = "testdata/traffic.txt"

// recordTraffic returns the number of items that arrive in each second of 40
// minutes: a quiet time, a climb, a plateau with noise, a burst on it, and the
// end of the load.
func recordTraffic() []int {
	random := rand.New(rand.NewPCG(79, 81))
	var traffic []int
	for second := range 40 * 60 {
		mean := 0.0
		switch minute := float64(second) / 60; {
		case minute < 5:
			mean = 5
		case minute < 10:
			mean = 5 + 95*(minute-5)/5
		case minute >= 15 && minute < 15.5:
			mean = 250
		case minute < 28:
			mean = 100 + 10*math.Sin(minute)
		}
		traffic = append(traffic, int(math.Max(0, math.Round(mean+math.Sqrt(mean)*random.NormFloat64()))))
	}
	return traffic
}

func readTraffic(t *testing.T) (traffic []int) {
	text, err := os.ReadFile(trafficFile)
	require.NoError(t, err)
	for _, field := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(field)
		require.NoError(t, err)
		traffic = append(traffic, n)
	}
	return traffic
}

// The file has what recordTraffic returns. UPDATE=1 writes it.
func TestTrafficIsRecorded(t *testing.T) {
	if os.Getenv("UPDATE") != "" {
		var text strings.Builder
		for second, n := range recordTraffic() {
			fmt.Fprint(&text, n, map[bool]string{true: "\n", false: " "}[second%20 == 19])
		}
		require.NoError(t, os.WriteFile(trafficFile, []byte(text.String()), 0o666))
	}
	require.Equal(t, recordTraffic(), readTraffic(t))
}

// A plant is a simulated queue with workers: first in, first out, and a service
// time of 100 ms on average.
type plant struct {
	now     time.Time
	waiting []time.Time // since when each item is ready
	ends    []time.Time // when each busy worker is done
	workers int
	random  *rand.Rand
}

// pass lets the workers work for a hundredth of a second.
func (p *plant) pass() {
	p.now = p.now.Add(10 * time.Millisecond)
	busy := p.ends[:0]
	for _, end := range p.ends {
		if end.After(p.now) {
			busy = append(busy, end)
		}
	}
	p.ends = busy
	for len(p.waiting) > 0 && len(p.ends) < p.workers {
		p.waiting = p.waiting[1:]
		p.ends = append(p.ends, p.now.Add(time.Duration(p.random.ExpFloat64()*float64(100*time.Millisecond))))
	}
}

func (p *plant) load() Load {
	l := Load{Ready: len(p.waiting), Processing: len(p.ends), Ages: true}
	if l.Ready > 0 {
		l.Oldest = p.now.Sub(p.waiting[0])
	}
	return l
}

// A second of a simulation.
type second struct {
	workers int
	oldest  time.Duration
}

// simulate runs the recorded traffic with a controller, which decides once a
// second.
func simulate(t *testing.T, workers int, decide func(now time.Time, workers int, load Load) int) (course []second) {
	p := &plant{now: time.Unix(0, 0), workers: workers, random: rand.New(rand.NewPCG(1, 2))}
	for _, arrivals := range readTraffic(t) {
		p.workers = decide(p.now, p.workers, p.load())
		one := second{workers: p.workers}
		for step := range 100 {
			for range (step+1)*arrivals/100 - step*arrivals/100 {
				p.waiting = append(p.waiting, p.now)
			}
			p.pass()
			one.oldest = max(one.oldest, p.load().Oldest)
		}
		course = append(course, one)
	}
	return course
}

func resizes(course []second) (n int) {
	for i := 1; i < len(course); i++ {
		if course[i].workers != course[i-1].workers {
			n++
		}
	}
	return n
}

var simulated = AutoscaleOptions{Min: 2, Max: 40, TargetAge: time.Second}

// Over recorded traffic, the bounds hold, items do not grow old while the load
// is steady, the number seldom changes, and it follows the load up and down.
func TestC81RecordedTraffic(t *testing.T) {
	s := &scaler{options: simulated.withDefaults()}
	course := simulate(t, 1, s.decide)
	late := 0
	for at, one := range course {
		require.LessOrEqual(t, simulated.Min, one.workers)
		require.LessOrEqual(t, one.workers, simulated.Max)
		steady := at > 12*60 && at < 15*60 || at > 17*60 && at < 28*60
		if one.oldest > simulated.TargetAge {
			late++
			require.False(t, steady, "an item is %v old in second %d", one.oldest, at)
		}
	}
	require.LessOrEqual(t, course[4*60].workers, 4, "the load needs 0.5")
	require.GreaterOrEqual(t, course[14*60].workers, 11, "the load needs 10")
	require.LessOrEqual(t, course[27*60].workers, 24, "the load needs 10")
	require.Equal(t, simulated.Min, course[len(course)-1].workers, "the load is over")

	without := simulate(t, 2, withoutHysteresis)
	t.Logf("%d resizes, %d seconds above the target; without hysteresis %d resizes",
		resizes(course), late, resizes(without))
	require.Less(t, resizes(course), 60)
	require.Greater(t, resizes(without), 10*resizes(course), "it flaps")
	require.Less(t, late, 20)
}

// withoutHysteresis is what a scaler must not be: it does at once what each
// sample asks for.
func withoutHysteresis(_ time.Time, workers int, load Load) int {
	busy := float64(load.Processing) / 0.7
	age := float64(workers) * float64(load.Oldest) / float64(simulated.TargetAge)
	if load.Oldest == 0 {
		age = 0
	}
	return min(max(int(math.Ceil(max(busy, age))), simulated.Min), simulated.Max)
}

// Each row of the table, by samples that lead there.
func TestC81Transitions(t *testing.T) {
	s := &scaler{options: AutoscaleOptions{
		Min: 1, Max: 20, TargetAge: time.Second, TargetUtilization: 0.5, ScaleDownDelay: 10 * time.Second,
	}.withDefaults()}
	now := time.Unix(0, 0)
	workers := 4
	for i, step := range []struct {
		busy   int
		oldest time.Duration
		want   int
		state  scalerState
	}{
		{busy: 2, want: 4, state: steady},
		{busy: 2, oldest: 1050 * time.Millisecond, want: 4, state: steady}, // within the tolerance
		{busy: 2, oldest: 1500 * time.Millisecond, want: 6, state: growing},
		{busy: 2, oldest: time.Hour - 2, want: 6, state: waiting},    // most workers are idle
		{busy: 6, oldest: time.Hour, want: 12, state: growing},       // at most as many more
		{busy: 6, oldest: time.Hour - 1, want: 12, state: steady},    // it catches up
		{busy: 6, oldest: time.Hour, want: 20, state: growing},       // at most Max
		{busy: 10, oldest: 2 * time.Hour, want: 20, state: steady},   // there are no more
		{busy: 2, want: 20, state: waiting},                          // asks for fewer
		{busy: 6, want: 20, state: waiting},                          // asks for more of these
		{busy: 10, oldest: 2 * time.Second, want: 20, state: steady}, // the wait is over
		{busy: 2, want: 20, state: waiting},                          // another begins
	} {
		workers = s.decide(now, workers, Load{Ready: 100, Processing: step.busy, Oldest: step.oldest})
		require.Equal(t, step.want, workers, "step %d", i)
		require.Equal(t, step.state, s.state, "step %d", i)
		now = now.Add(time.Second)
	}
	for range 9 {
		require.Equal(t, 20, s.decide(now, 20, Load{Processing: 2}))
		now = now.Add(time.Second)
	}
	workers = s.decide(now, 20, Load{Processing: 2})
	require.Less(t, workers, 12)
	require.GreaterOrEqual(t, workers, 4)
	require.Equal(t, steady, s.state)
}

// There are never more workers for the age of an item than have something to
// do.
func TestC81AsManyAsFindItems(t *testing.T) {
	s := &scaler{options: AutoscaleOptions{Min: 1, Max: 100, TargetAge: time.Second, TargetUtilization: 1}.withDefaults()}
	for _, step := range []struct{ ready, want int }{{0, 8}, {3, 11}, {1000, 16}} {
		got := s.decide(time.Unix(0, 0), 8, Load{Ready: step.ready, Processing: 8, Oldest: time.Hour})
		require.Equal(t, step.want, got, "%d are ready", step.ready)
	}
}

// Whatever it sees, and whatever others do to the pool, the number is in its
// bounds.
func TestC81BoundsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := &scaler{options: AutoscaleOptions{Min: 3, Max: 9, TargetAge: 1}.withDefaults()}
	now := time.Unix(0, 0)
	for range 10_000 {
		now = now.Add(time.Duration(random.Int64N(int64(time.Minute))) - 10*time.Second)
		load := Load{Ready: random.IntN(1000), Processing: random.IntN(1000), Oldest: time.Duration(random.Int64() >> random.IntN(63))}
		got := s.decide(now, random.IntN(100), load)
		require.GreaterOrEqual(t, got, 3)
		require.LessOrEqual(t, got, 9)
	}
}
