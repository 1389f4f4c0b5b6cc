package harness

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// A check that cannot fail proves nothing. Here are queues with one fault each,
// made from a correct one, and the clause that a run must name.

// sabotaged is a queue of keys with a fault.
type sabotaged struct {
	*shardq.Queue[int]
	fault   fault
	limiter limiter.Limiter[int]
	calls   atomic.Uint64
	plain   int // not guarded

	mu   sync.Mutex
	held []int
	kept []worker.Claim[int]
}

type fault int

const (
	loseAdds fault = iota
	handOutTwice
	handOutAgain
	comeEarly
	lastFirst
	drainAtOnce
	drainsWhatIsReady
	losesWhatIsReadyAtShutDown
	countsTooMuch
	leaksAtShutDown
	keepsMemory
	countsNoMisuse
	comeLate
	comeLateAtTimes
	asksNoLimiter
	waitsForNoLimiter
	forgetsNothing
	reportsRequeues
	countsNothing
	countsProcessing
	leaksIntoAVariable
	ignoresContexts
	isShuttingDown
	countsNoDeduplicated
	countsNoDelays
	countsNoDrops
	cancelsNoDelay
	releasesNoDrain
	races
)

// leaked is memory that a queue leaves behind.
var leaked [][]int

func (q *sabotaged) every(n uint64) bool { return q.calls.Add(1)%n == 0 }

func (q *sabotaged) Add(item int) {
	switch {
	case q.fault == loseAdds && q.every(500):
		return
	case q.fault == keepsMemory:
		q.mu.Lock()
		q.held = append(q.held, make([]int, 64)...)
		q.mu.Unlock()
	case q.fault == leaksIntoAVariable:
		q.mu.Lock()
		leaked = append(leaked, make([]int, 64))
		q.mu.Unlock()
	case q.fault == races:
		q.plain++
	}
	q.Queue.Add(item)
}

func (q *sabotaged) AddAfter(item int, d time.Duration) {
	switch {
	case q.fault == comeEarly && q.every(2):
		d /= 2
	case q.fault == comeLate, q.fault == comeLateAtTimes && q.every(50):
		d += time.Second
	}
	q.Queue.AddAfter(item, d)
}

func (q *sabotaged) AddRateLimited(item int) {
	switch q.fault {
	case asksNoLimiter:
		q.Queue.AddAfter(item, firstLimit)
	case waitsForNoLimiter:
		if q.every(10) {
			q.limiter.When(item)
			q.Queue.Add(item)
			return
		}
		fallthrough
	default:
		q.Queue.AddRateLimited(item)
	}
}

func (q *sabotaged) Forget(item int) {
	if q.fault != forgetsNothing {
		q.Queue.Forget(item)
	}
}

func (q *sabotaged) NumRequeues(item int) int {
	if q.fault == reportsRequeues && q.every(100) {
		return math.MaxInt
	}
	return q.Queue.NumRequeues(item)
}

func (q *sabotaged) GetContext(ctx context.Context) (int, error) {
	if q.fault == ignoresContexts {
		ctx = context.Background()
	}
	if q.fault == leavesThrottled && q.ShuttingDown() && q.Queue.Stats().Throttled > 0 {
		return 0, shardq.ErrShutDown
	}
	return q.Queue.GetContext(ctx)
}

func (q *sabotaged) ShuttingDown() bool { return q.fault == isShuttingDown || q.Queue.ShuttingDown() }

func (q *sabotaged) Get() (int, bool) {
	switch q.fault {
	case handOutTwice:
		item, shutdown := q.Queue.Get()
		if !shutdown && q.every(500) {
			q.Queue.Done(item) // without a call of Done
			q.Queue.Add(item)
		}
		return item, shutdown
	case handOutAgain:
		return q.again()
	case lastFirst:
		return q.swap()
	case losesWhatIsReadyAtShutDown:
		if q.ShuttingDown() {
			return 0, true
		}
	case starvesAGroup:
		return q.starve()
	case neverLeaves:
		item, shutdown := q.Queue.Get()
		return item, shutdown && q.underLoad()
	}
	return q.Queue.Get()
}

// again now and then hands out a key that a worker has.
func (q *sabotaged) again() (int, bool) {
	q.mu.Lock()
	if n := len(q.held); n > 0 && q.every(5) {
		defer q.mu.Unlock()
		return q.held[n-1], false
	}
	q.mu.Unlock()
	item, shutdown := q.Queue.Get()
	if !shutdown {
		q.mu.Lock()
		q.held = append(q.held, item)
		q.mu.Unlock()
	}
	return item, shutdown
}

func (q *sabotaged) Done(item int) {
	if q.fault == handOutAgain {
		q.mu.Lock()
		if i := slices.Index(q.held, item); i >= 0 {
			q.held = slices.Delete(q.held, i, i+1)
		}
		q.mu.Unlock()
	}
	if q.fault != keepsPlaces {
		q.Queue.Done(item)
	}
}

// swap now and then takes two keys and adds the first again, so that it comes
// last.
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
	switch {
	case q.fault == countsTooMuch && q.every(5):
		return 1 << 30
	case q.fault == countsNothing:
		return 0
	case q.fault == countsProcessing:
		return q.Queue.Len() + q.Queue.Stats().Processing
	}
	return q.Queue.Len()
}

func (q *sabotaged) ShutDown() {
	if q.fault == leaksAtShutDown {
		go func() { time.Sleep(time.Hour) }()
	}
	if q.fault == releasesNoDrain && q.ShuttingDown() {
		return
	}
	q.Queue.ShutDown()
}

func (q *sabotaged) ShutDownWithDrain() {
	switch q.fault {
	case drainAtOnce:
		q.Queue.ShutDown()
	case drainsWhatIsReady:
		q.Queue.ShutDown()
		for q.Queue.Len() > 0 {
			runtime.Gosched()
		}
	default:
		q.Queue.ShutDownWithDrain()
	}
}

func (q *sabotaged) Stats() shardq.Stats {
	s := q.Queue.Stats()
	switch q.fault {
	case countsNoMisuse:
		s.Misused = 0
	case countsNoDeduplicated:
		s.Deduplicated = 0
	case countsNoDelays:
		s.Expired = 0
	case countsNoDrops:
		s.Dropped = 0
	case countsNoCancels:
		s.Canceled = 0
	case countsNoOverCapacity:
		s.OverCapacity = 0
	case countsTooMuchOverCapacity:
		s.OverCapacity++
	}
	q.countGroups(&s)
	q.measure(&s)
	return s
}

func saboteur(f fault) Target {
	t := Shardq()
	t.Name = "saboteur"
	t.Ints = func(s Settings[int]) Typed[int] {
		if f == cancelsNoDelay {
			s.CancelDelayOnAdd = false
		}
		f.sabotage(&s)
		f.sabotageGroups(&s)
		return &sabotaged{Queue: openShardq(s).(controlled[int]).Queue, fault: f, limiter: s.Limiter}
	}
	return t
}

// mostRounds limits the rounds that look for a fault. Most faults are found
// within twenty. A fault that depends on the scheduler takes more on a busy
// machine.
const mostRounds = 1000

// requireFound runs rounds over a queue with a fault until one of them finds
// what the test wants.
func requireFound(t *testing.T, f fault, mix Ingredients, ending Ending, wanted func(Violation) bool) (found Violation) {
	t.Helper()
	return search{f, mix, 0, ending, 3000}.find(t, wanted)
}

// A search is for a fault, in rounds that may have the ingredients of a mix,
// and have those that are needed.
type search struct {
	fault       fault
	mix, needed Ingredients
	ending      Ending
	adds        int
}

// find is requireFound.
func (s search) find(t *testing.T, wanted func(Violation) bool) (found Violation) {
	t.Helper()
	shorten(t, &leavingTime)
	shorten(t, &grace)
	defer func() { leaked = nil }()
	for seed := uint64(1); seed <= mostRounds; seed++ {
		limits := Limits{Adds: s.adds, Shards: 1, Mix: s.mix, Ending: s.ending}
		plan := Draw(seed, limits, Shardq().Features)
		if !plan.Mix.Has(s.needed) {
			continue
		}
		plan.Items, plan.Ledger, plan.Adds = intItems, true, s.adds
		plan.Cancel = s.fault == cancelsNoDelay
		for _, v := range plan.run(saboteur(s.fault), &watchdog{}).violations {
			if wanted(v) {
				t.Logf("found in round %d", seed)
				return v
			}
		}
	}
	require.Fail(t, "nothing was found")
	return found
}

// requireClauses wants a violation of one of the clauses.
func requireClauses(t *testing.T, f fault, mix Ingredients, ending Ending, clauses []string) {
	t.Helper()
	requireFound(t, f, mix, ending, func(v Violation) bool { return slices.Contains(clauses, v.Clause) })
}

// shorten shortens a wait for something that will not happen.
func shorten(t *testing.T, d *time.Duration) {
	before := *d
	*d = 20 * time.Millisecond
	t.Cleanup(func() { *d = before })
}

func TestEveryFaultIsFound(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   fault
		mix     Ingredients
		ending  Ending
		clauses []string // one of these is found in the end; a fault may break others, too
	}{
		{"adds get lost", loseAdds, Readd, Drain, []string{"C2", "Stats"}},
		{"items are handed out twice", handOutTwice, 0, Drain, []string{"C1", "C3", "C5", "C15"}},
		{"delays are too short", comeEarly, Delays, Drain, []string{"C19"}},
		{"order is not kept", lastFirst, 0, Drain, []string{"C5", "C3"}},
		{"items in processing are handed out", handOutAgain, 0, Drain, []string{"C1"}},
		{"a drain does not wait", drainAtOnce, 0, Drain, []string{"C12"}},
		{"ready items are lost at shutdown", losesWhatIsReadyAtShutDown, 0, DrainThenShutDown, []string{"C2", "C12"}},
		{"Len is wrong", countsTooMuch, Observers, Drain, []string{"C6", "C12"}},
		{"a goroutine stays", leaksAtShutDown, 0, Rest, []string{"C14"}},
		{"memory stays", keepsMemory, 0, Rest, []string{"C8"}},
		{"misuse is not counted", countsNoMisuse, Misuse, Drain, []string{"C15"}},
		{"delays are too long", comeLate, Delays | Steps, Drain, []string{"C19"}},
		{"some delays are too long", comeLateAtTimes, Delays | Steps, Rest, []string{"C19"}},
		{"the limiter is not asked", asksNoLimiter, RateLimited, Drain, []string{"C28"}},
		{"the limiter's delay is not kept", waitsForNoLimiter, RateLimited, Drain, []string{"C19", "Stats"}},
		{"nothing is forgotten", forgetsNothing, RateLimited, Drain, []string{"C28"}},
		{"requeues are counted that were none", reportsRequeues, RateLimited, Drain, []string{"C28"}},
		{"Len is 0", countsNothing, 0, Drain, []string{"C6"}},
		{"Len counts what is processing", countsProcessing, 0, Drain, []string{"C6"}},
		{"items stay in a variable", leaksIntoAVariable, 0, Storm, []string{"C8"}},
		{"contexts are ignored", ignoresContexts, 0, Drain, []string{"C35"}},
		{"a new queue is shutting down", isShuttingDown, 0, Drain, []string{"C10"}},
		{"deduplicated adds are not counted", countsNoDeduplicated, 0, Drain, []string{"Stats"}},
		{"delays are not counted", countsNoDelays, Delays, Drain, []string{"Stats"}},
		{"drops are not counted", countsNoDrops, 0, Rest, []string{"Stats"}},
		{"delays are not canceled", cancelsNoDelay, 0, Drain, []string{"Stats"}},
		{"a drain is not released", releasesNoDrain, 0, DrainThenShutDown, []string{"C12"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireClauses(t, test.fault, test.mix, test.ending, test.clauses)
		})
	}
}

// TestHistoryOfAViolation checks that the history has the calls that are wrong
// by themselves, and little else.
func TestHistoryOfAViolation(t *testing.T) {
	for _, test := range []struct {
		clause string
		fault  fault
		mix    Ingredients
		calls  string // K is the violation's key
	}{
		{"C1", handOutAgain, 0, `Get yields K\n.*Get yields K\n.*Done\(K\)\n`},
		{"C2", loseAdds, Readd, `(Get yields K\n.*)?Add\(K\)\n.*at rest\n`},
		{"C5", lastFirst, 0, `Add\(K\)\n.*Add\(\d+\)\n.*Get yields \d+\n.*Get yields K\n`},
		{"C12", drainsWhatIsReady, 0, `Get yields K\n.*the drain is over\n.*Done\(K\)\n`},
		{"C19", comeEarly, Delays, `AddAfter\(K, .*due at .*\n.*Get yields K \(at .*\n`},
		{"C19", comeEarly, Delays | Steps, `AddAfter\(K, .*due at .*\n.*Get yields K \(at .*\n`},
		{"C19", waitsForNoLimiter, RateLimited, `AddRateLimited\(K\) \(due at .*\n.*Get yields K \(at .*\n`},
	} {
		t.Run(test.clause, func(t *testing.T) {
			found := inARound(t, test.fault, test.mix, test.clause)
			wrong, before, _ := strings.Cut(found.History, "before it:\n")
			calls := strings.ReplaceAll(test.calls, "K", strconv.Itoa(found.Key))
			require.Regexp(t, "^this part of the history is enough:\n.*"+calls+"$", wrong)
			require.LessOrEqual(t, strings.Count(wrong, "\n"), 1+4)
			require.LessOrEqual(t, strings.Count(before, "\n"), beforeIt)
		})
	}
}

// inARound finds a violation that names a key.
func inARound(t *testing.T, f fault, mix Ingredients, clause string) Violation {
	return requireFound(t, f, mix, Drain, func(v Violation) bool {
		return v.Clause == clause && v.Key >= 0 && !watched(v.Key)
	})
}
