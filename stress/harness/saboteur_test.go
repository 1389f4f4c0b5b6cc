package harness

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// A check that cannot fail proves nothing: here are queues with one fault each, made
// from a right one, and the clause that a run must name.

// sabotaged is a queue of keys with something wrong.
type sabotaged struct {
	*shardq.Queue[int]
	fault fault
	calls atomic.Uint64

	mu   sync.Mutex
	held []int
}

type fault int

const (
	loseAdds fault = iota
	handOutTwice
	comeEarly
	lastFirst
	drainAtOnce
	losesWhatIsReadyAtShutDown
	countsTooMuch
	leaksAtShutDown
	keepsMemory
	countsNoMisuse
)

func (q *sabotaged) every(n uint64) bool { return q.calls.Add(1)%n == 0 }

func (q *sabotaged) Add(item int) {
	switch {
	case q.fault == loseAdds && q.every(500):
		return
	case q.fault == keepsMemory:
		q.mu.Lock()
		q.held = append(q.held, make([]int, 64)...)
		q.mu.Unlock()
	}
	q.Queue.Add(item)
}

func (q *sabotaged) AddAfter(item int, d time.Duration) {
	if q.fault == comeEarly {
		d /= 2
	}
	q.Queue.AddAfter(item, d)
}

func (q *sabotaged) Get() (int, bool) {
	switch q.fault {
	case handOutTwice:
		item, shutdown := q.Queue.Get()
		if !shutdown && q.every(500) {
			q.Queue.Done(item) // in secret
			q.Queue.Add(item)
		}
		return item, shutdown
	case lastFirst:
		return q.swap()
	case losesWhatIsReadyAtShutDown:
		if q.ShuttingDown() {
			return 0, true
		}
	}
	return q.Queue.Get()
}

// swap now and then takes two and gives the first back, to be last.
func (q *sabotaged) swap() (int, bool) {
	item, shutdown := q.Queue.Get()
	if shutdown || !q.every(20) || q.Len() == 0 {
		return item, shutdown
	}
	q.Queue.Add(item)
	q.Queue.Done(item)
	return q.Queue.Get()
}

func (q *sabotaged) Len() int {
	if q.fault == countsTooMuch && q.every(5) {
		return 1 << 30
	}
	return q.Queue.Len()
}

func (q *sabotaged) ShutDown() {
	if q.fault == leaksAtShutDown {
		go func() { time.Sleep(time.Hour) }()
	}
	q.Queue.ShutDown()
}

func (q *sabotaged) ShutDownWithDrain() {
	if q.fault == drainAtOnce {
		q.Queue.ShutDown()
		return
	}
	q.Queue.ShutDownWithDrain()
}

func (q *sabotaged) Stats() shardq.Stats {
	s := q.Queue.Stats()
	if q.fault == countsNoMisuse {
		s.Misused = 0
	}
	return s
}

func saboteur(f fault) Target {
	t := Shardq()
	t.Name = "saboteur"
	t.Ints = func(s Settings[int]) Typed[int] {
		return &sabotaged{Queue: openShardq(s).(*shardq.Queue[int]), fault: f}
	}
	return t
}

func TestEveryFaultIsFound(t *testing.T) {
	defer func(d time.Duration) { leavingTime = d }(leavingTime)
	leavingTime = 10 * time.Millisecond
	for _, test := range []struct {
		name    string
		fault   fault
		mix     Ingredients
		ending  Ending
		clauses []string // any of these
	}{
		{"adds get lost", loseAdds, Readd, Drain, []string{"C2"}},
		{"items are handed out twice", handOutTwice, 0, Drain, []string{"C1", "C3", "C5", "C15"}},
		{"delays are too short", comeEarly, Delays, Drain, []string{"C19"}},
		{"order is not kept", lastFirst, 0, Drain, []string{"C5", "C3"}},
		{"a drain does not wait", drainAtOnce, 0, Drain, []string{"C12"}},
		{"ready items are lost at shutdown", losesWhatIsReadyAtShutDown, 0, DrainThenShutDown, []string{"C2", "C12"}},
		{"Len is wrong", countsTooMuch, Onlookers, Drain, []string{"C6", "C12"}},
		{"a goroutine stays", leaksAtShutDown, 0, Rest, []string{"C14"}},
		{"memory stays", keepsMemory, 0, Rest, []string{"C8"}},
		{"misuse is not counted", countsNoMisuse, Misuse, Drain, []string{"C15"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var violated []Violation
			for seed := uint64(1); seed < 60 && violated == nil; seed++ {
				limits := Limits{Adds: 3000, Shards: 1, Mix: test.mix, Ending: test.ending}
				plan := Draw(seed, limits, Shardq().Features)
				plan.Items, plan.Ledger, plan.Adds = intItems, true, limits.Adds
				round, _ := plan.run(saboteur(test.fault), &watchdog{})
				violated = round.violated.all()
			}
			require.NotEmpty(t, violated, "nothing was found")
			require.Contains(t, test.clauses, violated[0].Clause, "%v", violated)
		})
	}
}
