package harness

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// Faults of groups. Those that occur only sometimes or under load pass the
// checks of a queue that one goroutine uses, and are for the checks under load.
const (
	exceedsLimit fault = iota + 3000
	ignoresLimitUnderLoad
	keepsPlaces
	leavesThrottled
	neverLeaves
	takesNoTurns
	starvesAGroup
	weighsAlike
	weighsAlikeUnderLoad
	mixesGroupsUp
	showsGroupTwice
	showsGroupElsewhere
	showsItemElsewhere
	showsOtherGroup
	showsMoreReady
	showsNotThrottled
	showsTooManyInProcessing
	hidesGroup
	hidesGroupAtTimes
	keepsEmptyGroup
	countsEmptyGroup
	countsThrottled
)

// underLoad reports whether a queue is that of a round. The limiter of a queue
// that one goroutine uses has no records.
func underLoad(l limiter.Limiter[int]) bool { return l.(limits[int]).calls != nil }

func (q *sabotaged) underLoad() bool { return underLoad(q.limiter) }

// sabotageGroups changes the settings of a queue.
func (f fault) sabotageGroups(s *Settings[int]) {
	if s.Group == nil {
		return
	}
	group := s.Group
	switch {
	case f == exceedsLimit && s.GroupLimit > 0:
		s.GroupLimit++
	case f == ignoresLimitUnderLoad && underLoad(s.Limiter):
		s.GroupLimit = 0
	case f == takesNoTurns:
		s.Group = func(int) string { return groupNames[0] }
	case f == weighsAlike, f == weighsAlikeUnderLoad && underLoad(s.Limiter):
		s.GroupWeight = nil
	case f == ignoresGroupRates:
		s.GroupRate = nil
	case f == mixesGroupsUp && underLoad(s.Limiter):
		s.Group = func(item int) string {
			return group(item + item/32%2*4) // half of a group belongs to the next one; sizes stay
		}
	}
}

// starve hands out the items of one group only when there are no others. One
// goroutine calls Get.
func (q *sabotaged) starve() (int, bool) {
	for q.underLoad() && (len(q.held) == 0 || q.Queue.Len() > 0) {
		item, shutdown := q.Queue.Get()
		if shutdown || item/4%mostGroups != 1 {
			return item, shutdown
		}
		q.held = append(q.held, item)
	}
	if len(q.held) == 0 {
		return q.Queue.Get()
	}
	item := q.held[0]
	q.held = q.held[1:]
	return item, false
}

func (q *sabotaged) Groups() iter.Seq[stats.Group] {
	rows := slices.Collect(q.Queue.Groups())
	if q.fault == exceedsLimit { // and hides it
		for i := range rows {
			rows[i].Limit = max(rows[i].Limit-1, 0)
		}
	}
	if q.fault == keepsEmptyGroup && q.underLoad() && len(rows) == 0 {
		return slices.Values([]stats.Group{{Group: groupNames[0], Held: 1, Weight: 1}}) // as if an item were delayed
	}
	if len(rows) > 0 {
		q.falsify(&rows)
	}
	return slices.Values(rows)
}

// falsify changes the groups that are shown.
func (q *sabotaged) falsify(rows *[]stats.Group) {
	first, loaded := &(*rows)[0], q.underLoad()
	switch {
	case q.fault == showsGroupTwice && loaded:
		*rows = append(*rows, *first)
	case q.fault == showsGroupElsewhere && loaded && q.every(3):
		first.Shard++
	case q.fault == showsMoreReady && loaded:
		first.Ready += 1000
	case q.fault == showsNotThrottled && loaded:
		first.Throttled = !first.Throttled
	case q.fault == showsTooManyInProcessing && loaded:
		first.Processing += 10
	case q.fault == hidesGroup, q.fault == hidesGroupAtTimes && loaded && q.every(2):
		*rows = (*rows)[1:]
	}
}

// countGroups changes the counters of groups.
func (q *sabotaged) countGroups(s *shardq.Stats) {
	switch {
	case q.fault == countsEmptyGroup && s.Held == 0:
		s.Groups++
	case q.fault == countsThrottled && s.Held == 0 && q.underLoad():
		s.Throttled++
	}
}

// TestEveryFaultOfGroupsIsFound checks that the right check finds each fault.
func TestEveryFaultOfGroupsIsFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  fault
		mix    Ingredients
		clause string
		says   string
	}{
		{"one more than the limit", exceedsLimit, Groups, "C48", "was handed out"},
		{"there is no limit under load", ignoresLimitUnderLoad, Groups | Batches, "C48", "workers have"},
		{"a Done makes no room", keepsPlaces, Groups, "C48", "was not, after"},
		{"Get leaves throttled items", leavesThrottled, Groups, "C48", "a throttled group, Get reported a shutdown"},
		{"Get never says shutdown", neverLeaves, Groups, "C48", "does not report the shutdown"},
		{"groups take no turns", takesNoTurns, Groups, "C47", "during a flood"},
		{"weights are ignored", weighsAlike, Groups, "C47", "Groups shows"},
		{"weights are ignored under load", weighsAlikeUnderLoad, Groups, "C47", "another weight is shown"},
		{"a group is shown twice", showsGroupTwice, Groups, "C47", "was shown twice"},
		{"a group changes its shard", showsGroupElsewhere, Groups, "C47", "was in shard"},
		{"an item changes its shard", showsItemElsewhere, Groups | Ages, "C47", "was in shard"},
		{"an item is shown in another group", showsOtherGroup, Groups | Ages, "C47", "was shown in another group"},
		{"a group has more ready than there is", showsMoreReady, Groups, "C47", "this is impossible"},
		{"a throttled group is not shown as such", showsNotThrottled, Groups, "C48", "wrongly throttled"},
		{"a group has too many in processing", showsTooManyInProcessing, Groups, "C48", "than the limit"},
		{"a group is hidden", hidesGroup, Groups, "C47", "Groups does not show"},
		{"a group is hidden at times", hidesGroupAtTimes, Groups, "C47", "throughout"},
		{"a group without items is kept", keepsEmptyGroup, Groups, "C47", "with no items, there is a group"},
		{"a group without items is counted", countsEmptyGroup, Groups, "C47", "Stats is wrong"},
		{"a throttled group is counted where there is none", countsThrottled, Groups, "C47", "with no items, Stats has"},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireFound(t, test.fault, test.mix, Drain, func(v Violation) bool {
				return v.Clause == test.clause && strings.Contains(v.Message, test.says)
			})
		})
	}
}

// TestStarvedGroupIsFound checks a fault under load, where one consumer alone
// takes keys.
func TestStarvedGroupIsFound(t *testing.T) {
	requireFoundInGroups(t, starvesAGroup, 1, "C47", "of group b was handed out by Get")
}

// TestOrderWithinAGroup checks that the order is visible if all groups are in
// one shard.
func TestOrderWithinAGroup(t *testing.T) {
	requireFoundInGroups(t, lastFirst, 1, "C5", "was ready before the Add of another key")
}

// TestMixedGroupsAreFound checks a fault under load, where few keys are in
// flight.
func TestMixedGroupsAreFound(t *testing.T) {
	requireFoundInGroups(t, mixesGroupsUp, 2, "C47", "workers had")
}

// requireFoundInGroups runs rounds with groups, one shard and some consumers
// over a queue with a fault, until one of them finds what the test wants.
func requireFoundInGroups(t *testing.T, f fault, consumers int, clause, says string) {
	t.Helper()
	for seed := uint64(1); seed <= mostRounds; seed++ {
		p := Draw(seed, Limits{Adds: 20_000, Shards: 1, Mix: Groups, Ending: Drain}, Shardq().Features)
		p.Mix, p.Grouped, p.GroupLimit = Groups, true, 0
		p.Items, p.Ledger, p.Adds, p.Producers, p.Consumers = intItems, true, 20_000, 8, consumers
		p.Keys, p.Choice = 1000, Uniform
		for _, v := range p.run(saboteur(f), &watchdog{}).violations {
			if v.Clause == clause && strings.Contains(v.Message, says) {
				t.Logf("found in round %d", seed)
				return
			}
		}
	}
	require.Fail(t, "nothing was found")
}

// TestGroupsTakePartInSomeRounds checks that there are rounds with every limit,
// with and without weights, and with one shard.
func TestGroupsTakePartInSomeRounds(t *testing.T) {
	limits, weighted, alone := map[int]bool{}, map[bool]bool{}, 0
	for seed := range uint64(300) {
		p := Draw(seed, anything, Shardq().Features)
		if !p.Mix.Has(Groups) {
			require.Zero(t, p.GroupLimit)
			require.False(t, p.Weighted)
			continue
		}
		require.True(t, p.Grouped)
		require.Equal(t, mostGroups, p.groups())
		limits[p.GroupLimit], weighted[p.Weighted] = true, true
		if q := Draw(seed, Limits{Adds: 1000, Mix: Groups, Ending: -1}, Shardq().Features); q.countsTurns() {
			alone++
		}
	}
	require.Equal(t, map[int]bool{0: true, 1: true, 2: true, 5: true}, limits)
	require.Len(t, weighted, 2)
	require.Positive(t, alone)
	require.Zero(t, Draw(1, anything, Features{}).Mix&Groups)
}

// TestMostGets checks that an item behind a full turn of its group comes in the
// second turn.
func TestMostGets(t *testing.T) {
	require.Equal(t, 7, mostGets(0, 1, 7))
	require.Equal(t, 14, mostGets(1, 1, 7))
	require.Equal(t, 11, mostGets(2, 3, 7), "rounded down")
	require.Equal(t, 14, mostGets(3, 3, 7))
}
