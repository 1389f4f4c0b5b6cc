package harness

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Faults of the operations of section I. Those that occur only sometimes pass
// the checks of a new queue, and are for the checks under load.
const (
	batchLosesOne fault = iota + 1000
	batchIsReversed
	batchIsReversedAtTimes
	batchIsNotAllDone
	batchOfNone
	breakIsNoDone
	loopIsDoneBefore
	loopEndsAtTimes
	allPoliciesAreEarliest
	allPoliciesAreEarliestAtTimes
	nothingBoundsADelay
	shorterDelayCounts
	asksLimiterTwice
	cancelsInSecret
	cancelsInPretence
	cancelsAndAdds
	cancelsWrongState
	countsNoCancels
	measuresNoDones
	measuresDirtOnly
	forgetsMeasures
	keepsNoMetrics
	exceedsCapacity
	findsNoCapacity
	findsNoCapacityForHeldItem
	acceptsAndLoses
	failsForNoReason
	countsNoOverCapacity
	countsTooMuchOverCapacity
	reportsLevelsTwice
	reportsNoLow
	drainsNothing
	drainFails
	returnsNothing
	returnsTwice
	leavesNothing
	countsOneTooMany
	endsEarlyWithoutCause
	reportsStuckTwice
	reportsStuckEarly
	reportsNoStuck
	reportsSomeStuck
	showsTwice
	showsUnused
	showsOthers
	hidesOne
	showsTooMany
	forgetsPriorities
	losesPriorities
)

func (q *sabotaged) AddBatch(items []int) {
	if q.fault == batchLosesOne && q.every(20) {
		items = items[1:]
	}
	controlled[int]{q.Queue}.AddBatch(items)
}

func (q *sabotaged) GetBatch(ctx context.Context, dst []int) (int, error) {
	if q.fault == batchOfNone && q.every(20) {
		return 0, nil
	}
	n, err := controlled[int]{q.Queue}.GetBatch(ctx, dst)
	if q.fault == batchIsReversed || q.fault == batchIsReversedAtTimes && q.every(20) {
		slices.Reverse(dst[:n])
	}
	return n, err
}

func (q *sabotaged) GetWithPriority() (int, int, bool) {
	item, priority, shutdown := controlled[int]{q.Queue}.GetWithPriority()
	if q.fault == forgetsPriorities {
		priority = 0
	}
	return item, priority, shutdown
}

func (q *sabotaged) DoneBatch(items []int) {
	if q.fault == batchIsNotAllDone {
		items = items[1:]
	}
	controlled[int]{q.Queue}.DoneBatch(items)
}

func (q *sabotaged) Items(ctx context.Context) iter.Seq[int] {
	switch {
	case q.fault == breakIsNoDone:
		return q.loop(ctx, func(item int, yield func(int) bool) bool {
			if !yield(item) {
				return false
			}
			q.Queue.Done(item)
			return true
		})
	case q.fault == loopIsDoneBefore:
		return q.loop(ctx, func(item int, yield func(int) bool) bool {
			q.Queue.Done(item)
			return yield(item)
		})
	case q.fault == loopEndsAtTimes && !q.ShuttingDown() && q.every(20):
		return func(func(int) bool) {}
	}
	return q.Queue.Items(ctx)
}

func (q *sabotaged) loop(ctx context.Context, turn func(int, func(int) bool) bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for {
			item, err := q.Queue.GetContext(ctx)
			if err != nil || !turn(item, yield) {
				return
			}
		}
	}
}

func (q *sabotaged) AddWith(item int, o shardq.AddOptions) {
	switch {
	case q.fault == allPoliciesAreEarliest, q.fault == allPoliciesAreEarliestAtTimes && q.every(10):
		o.Policy = shardq.KeepEarliest
	case q.fault == losesPriorities:
		o.Priority = 0
	case q.fault == ignoresWindowsInSilence:
		o.NotAgainWithin = 0
	case q.fault == ignoresWindowsOfSilentDelays && o.After > 0:
		o.NotAgainWithin = 0
	case q.fault == nothingBoundsADelay:
		o.MaxWait = 0
	case q.fault == shorterDelayCounts && o.RateLimited:
		o.After = 0
	case q.fault == asksLimiterTwice && o.RateLimited:
		q.limiter.When(item)
	}
	q.Queue.AddWith(item, o)
}

func (q *sabotaged) Cancel(item int) shardq.Canceled {
	if q.fault == cancelsInPretence && q.every(20) {
		return shardq.Canceled{Ready: true}
	}
	was := q.Queue.Cancel(item)
	switch {
	case q.fault == cancelsInSecret && q.every(20):
		return shardq.Canceled{}
	case q.fault == cancelsAndAdds && was.Ready && q.every(5):
		q.Queue.Add(item)
	case q.fault == cancelsWrongState && was.Dirty && q.every(5):
		return shardq.Canceled{Ready: true}
	}
	return was
}

func (q *sabotaged) TryAdd(item int) error {
	switch {
	case q.fault == findsNoCapacity && q.Queue.Stats().Held == 0 && q.every(2),
		q.fault == findsNoCapacityForHeldItem && q.every(20):
		return shardq.ErrFull
	case q.fault == acceptsAndLoses && q.every(100):
		return nil
	}
	err := controlled[int]{q.Queue}.TryAdd(item)
	if q.fault == exceedsCapacity && err == shardq.ErrFull && q.every(20) {
		q.Queue.Add(item)
		return nil
	}
	return err
}

func (q *sabotaged) AddContext(ctx context.Context, item int) error {
	if q.fault == failsForNoReason && q.every(20) {
		return context.Canceled
	}
	return controlled[int]{q.Queue}.AddContext(ctx, item)
}

func (q *sabotaged) Drain(ctx context.Context, o shardq.DrainOptions) ([]int, error) {
	switch q.fault {
	case drainsNothing:
		q.Queue.ShutDown()
		return nil, nil
	case drainFails:
		dropped, err := q.Queue.Drain(ctx, o)
		return dropped, errors.Join(err, shardq.ErrShutDown)
	}
	dropped, err := q.Queue.Drain(ctx, o)
	var left *shardq.DrainError[int]
	switch {
	case q.fault == returnsNothing:
		return nil, err
	case q.fault == returnsTwice:
		return append(dropped, dropped...), err
	case q.fault == leavesNothing && errors.As(err, &left):
		return dropped, &shardq.DrainError[int]{Cause: left.Cause}
	case q.fault == countsOneTooMany && errors.As(err, &left):
		left.Ready++
	case q.fault == endsEarlyWithoutCause && errors.As(err, &left):
		left.Cause = context.Canceled
	}
	return dropped, err
}

func (q *sabotaged) Snapshot(limit int) shardq.Snapshot[int] {
	if q.fault == showsTooMany {
		limit *= 10
	}
	return q.Queue.Snapshot(limit)
}

func (q *sabotaged) All(state stats.State) iter.Seq[stats.Item[int]] {
	rows := slices.Collect(q.Queue.All(state))
	if len(rows) > 0 && q.every(10) {
		first := rows[0]
		switch {
		case q.fault == showsTwice:
			rows = slices.Insert(rows, 0, first)
		case q.fault == hidesOne:
			rows = rows[1:]
		case q.fault == showsItemElsewhere:
			rows[len(rows)-1].Shard++
		case q.fault == showsOtherGroup:
			rows[0].Group = groupNames[(first.Item/4+1)%mostGroups]
		case q.fault == showsOthers:
			rows[0].State = stats.Delayed + stats.Ready - state
		case q.fault == showsUnused:
			first.Item = 3
			if !slices.ContainsFunc(rows, func(row stats.Item[int]) bool { return row.Item == 3 }) {
				rows = slices.Insert(rows, 0, first)
			}
		}
	}
	return slices.Values(rows)
}

// sabotage changes the settings of a queue.
func (f fault) sabotage(s *Settings[int]) {
	reported, calls := 0, atomic.Int32{}
	stuck, level := s.OnStuck, s.OnWatermark
	if stuck == nil && level == nil {
		return
	}
	switch f {
	case reportsLevelsTwice:
		s.OnWatermark = func(high bool) {
			if reported++; reported%5 == 0 {
				level(high)
			}
			level(high)
		}
	case reportsNoLow:
		s.OnWatermark = func(high bool) {
			if high && reported == 0 {
				reported++
				level(high)
			}
		}
	case reportsStuckTwice:
		s.OnStuck = func(row stats.Item[int]) { stuck(row); stuck(row) }
	case reportsStuckEarly:
		s.StuckAfter /= 3
	case reportsNoStuck:
		s.OnStuck = func(stats.Item[int]) {}
	case reportsSomeStuck:
		s.OnStuck = func(row stats.Item[int]) {
			if calls.Add(1) == 1 { // several goroutines may call OnStuck
				stuck(row)
			}
		}
	}
}

func TestEveryFaultOfControlIsFound(t *testing.T) {
	for _, test := range []struct {
		name    string
		fault   fault
		mix     Ingredients
		ending  Ending
		clauses []string // any of these
	}{
		{"a batch loses an item", batchLosesOne, Batches, Drain, []string{"C2", "Stats"}},
		{"a batch is reversed", batchIsReversed, Batches, Drain, []string{"C37"}},
		{"some batches are reversed", batchIsReversedAtTimes, Batches, Drain, []string{"C3", "C5"}},
		{"a batch is not all done", batchIsNotAllDone, Batches, Drain, []string{"C37"}},
		{"a batch of none", batchOfNone, Batches, Drain, []string{"C37"}},
		{"break is no Done", breakIsNoDone, Loops, Drain, []string{"C36"}},
		{"the Done is before the turn", loopIsDoneBefore, Loops, Drain, []string{"C36"}},
		{"loops end", loopEndsAtTimes, Loops, Drain, []string{"C36"}},
		{"the earliest deadline counts", allPoliciesAreEarliest, Policies, Drain, []string{"C38"}},
		{"the earliest deadline counts at times", allPoliciesAreEarliestAtTimes, Policies, Drain, []string{"C38"}},
		{"the earliest deadline counts at times, and steps", allPoliciesAreEarliestAtTimes, Policies | Steps, Drain, []string{"C38"}},
		{"nothing bounds a delay", nothingBoundsADelay, Policies, Drain, []string{"C38"}},
		{"the shorter delay counts", shorterDelayCounts, Policies | RateLimited, Drain, []string{"C38"}},
		{"the limiter is asked twice", asksLimiterTwice, Policies | RateLimited, Drain, []string{"C28"}},
		{"Cancel does not say what it does", cancelsInSecret, Cancels, Drain, []string{"C3", "C2", "C39"}},
		{"Cancel does not do what it says", cancelsInPretence, Cancels, Drain, []string{"C3", "C39"}},
		{"what is canceled runs", cancelsAndAdds, Cancels, Drain, []string{"C39"}},
		{"Cancel says ready for dirty", cancelsWrongState, Cancels | Readd, Drain, []string{"C39"}},
		{"Cancels are not counted", countsNoCancels, Cancels, Drain, []string{"C39"}},
		{"what is done is not measured", measuresNoDones, Metrics, Drain, []string{"C33"}},
		{"dirt is counted and never cleaned", measuresDirtOnly, Metrics, Drain, []string{"C33"}},
		{"what was measured is forgotten", forgetsMeasures, Metrics, Drain, []string{"C33"}},
		{"metrics are asked for in vain", keepsNoMetrics, Metrics, Drain, []string{"C33"}},
		{"the capacity is exceeded", exceedsCapacity, Capacity, Drain, []string{"C40"}},
		{"an empty queue has no room", findsNoCapacity, Capacity, Drain, []string{"C40"}},
		{"there is no room for what is held", findsNoCapacityForHeldItem, Capacity, Drain, []string{"C40"}},
		{"an accepted item is lost", acceptsAndLoses, Capacity, Drain, []string{"C2", "C3", "Stats"}},
		{"AddContext fails", failsForNoReason, Capacity, Drain, []string{"C40"}},
		{"what exceeds the capacity is not counted", countsNoOverCapacity, Capacity, Drain, []string{"C40"}},
		{"what does not exceed it is counted", countsTooMuchOverCapacity, 0, Drain, []string{"C40"}},
		{"OnWatermark is called twice for a level", reportsLevelsTwice, Capacity, Drain, []string{"C41"}},
		{"OnWatermark is not called for the low level", reportsNoLow, Capacity, Drain, []string{"C41"}},
		{"Drain does not wait", drainsNothing, 0, DrainContext, []string{"C42"}},
		{"Drain returns an error", drainFails, 0, DrainContext, []string{"C42"}},
		{"what is dropped is not returned", returnsNothing, Delays, DrainContext, []string{"C2"}},
		{"what is dropped is returned twice", returnsTwice, Delays, DrainContext, []string{"C42"}},
		{"nothing is said to be left", leavesNothing, 0, DrainContext, []string{"C42"}},
		{"what is not left is counted", countsOneTooMany, 0, DrainContext, []string{"C42"}},
		{"Drain ends early without a cause", endsEarlyWithoutCause, 0, DrainContext, []string{"C42"}},
		{"OnStuck is called twice", reportsStuckTwice, Ages, Drain, []string{"C44"}},
		{"OnStuck is called early", reportsStuckEarly, Ages, Drain, []string{"C44"}},
		{"OnStuck is not called", reportsNoStuck, Ages, Drain, []string{"C44"}},
		{"OnStuck is called only for the first", reportsSomeStuck, Ages, Drain, []string{"C44"}},
		{"priorities are not returned", forgetsPriorities, Priorities, Drain, []string{"C45"}},
		{"priorities are lost", losesPriorities, Priorities, Drain, []string{"C45"}},
		{"All shows an item twice", showsTwice, Ages, Drain, []string{"C43"}},
		{"All shows what is not there", showsUnused, Ages, Drain, []string{"C43"}},
		{"All shows others", showsOthers, Ages, Drain, []string{"C43"}},
		{"All hides an item", hidesOne, Ages, Drain, []string{"C43"}},
		{"Snapshot shows too many", showsTooMany, Ages, Drain, []string{"C43"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireClauses(t, test.fault, test.mix, test.ending, test.clauses)
		})
	}
}

// measure adds the faults of metrics.
func (q *sabotaged) measure(s *shardq.Stats) {
	if s.Metrics == nil {
		return
	}
	switch q.fault {
	case measuresNoDones:
		s.Metrics.WorkDuration = stats.Histogram{}
	case measuresDirtOnly:
		s.Metrics.Dirty++
	case forgetsMeasures:
		if q.every(3) {
			s.Metrics.QueueDuration = stats.Histogram{}
		}
	case keepsNoMetrics:
		s.Metrics = nil
	}
}
