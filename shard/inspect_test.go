package shard

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// mostPerHold limits the rows that an inspection may visit in one hold: those
// of each state, cells that have none, and the groups that are asked for their
// oldest item.
const mostPerHold = 4*256 + 64

// observe calls fn, which may inspect the set. It returns the number of holds
// of a lock, and the number of rows visited in the longest hold. It calls
// meanwhile after each hold.
func observe[T comparable](s *Set[T], meanwhile, fn func()) (holds, longest int) {
	s.probe = &probe{
		hold: func(part func() (visited int, more bool)) (more bool) {
			visited, more := part()
			holds++
			longest = max(longest, visited)
			return more
		},
		after: meanwhile,
	}
	defer func() { s.probe = nil }()
	fn()
	return holds, longest
}

func idly() {}

// inspections are all calls that read a set.
func inspections(s *Set[int]) map[string]func() {
	all := func(state stats.State) func() { return func() { _ = slices.Collect(s.Items(state)) } }
	return map[string]func(){
		"Stats": func() { s.Stats() }, "Len": func() { s.Len() },
		"Inspect(2)": func() { s.Inspect(2) }, "Inspect(1000)": func() { s.Inspect(1000) }, "Inspect(MaxInt)": func() { s.Inspect(math.MaxInt) },
		"Items(Ready)": all(stats.Ready), "Items(Processing)": all(stats.Processing), "Items(Delayed)": all(stats.Delayed),
		"Groups": func() { _ = slices.Collect(s.Groups()) }, "TimeLeft": func() { s.TimeLeft() },
	}
}

// inNameOrder returns an iterator over a map, in the order of its keys.
func inNameOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// largeSet returns a set of one shard. Some of its items are ready, some in
// processing, and the others delayed. So many delays are about as long as the
// next that the wheel cannot tell which is the next.
func largeSet(t testing.TB, config Config[int], items, ready, inProcessing, priorities int) *Set[int] {
	t.Helper()
	s := newTestSet(t, config)
	for item := range ready + inProcessing {
		s.AddWith(item, Delay{Priority: item * 7 % max(1, priorities)})
	}
	for range inProcessing {
		_, _ = s.Get()
	}
	for item := ready + inProcessing; item < items; item++ {
		s.AddAfter(item, time.Hour+time.Duration(items-item)*time.Millisecond)
	}
	return s
}

// TestC43HoldsAreBounded: whatever a shard holds, and however much is
// requested, no inspection visits more than a few hundred rows while it holds
// the lock.
func TestC43HoldsAreBounded(t *testing.T) {
	const items = 12 * rowsPerHold
	for _, groups := range []int{0, 10, items} {
		for _, priorities := range []int{0, 10, items} {
			for _, ages := range []bool{false, true} {
				for contents, part := range map[string][2]int{
					"mixed": {items / 2, items / 4}, "ready": {items, 0}, "processing": {0, items}, "delayed": {0, 0},
				} {
					name := fmt.Sprintf("groups=%d/priorities=%d/ages=%v/%s", groups, priorities, ages, contents)
					t.Run(name, func(t *testing.T) {
						config := Config[int]{Ages: ages, GroupPolicy: limited(items)}
						if groups > 0 {
							config.Group = func(item int) string { return fmt.Sprint(item % groups) }
						}
						s := largeSet(t, config, items, part[0], part[1], priorities)
						for name, inspect := range inspections(s) {
							_, longest := observe(s, idly, inspect)
							require.LessOrEqual(t, longest, mostPerHold, name)
						}
					})
				}
			}
		}
	}
}

// TestC43StatsAskFewGroups: Stats asks neither groups that have only delayed
// items for their oldest item, nor all throttled groups. Of the latter the
// oldest still counts.
func TestC43StatsAskFewGroups(t *testing.T) {
	fake := clock.NewFake(start)
	config := Config[int]{
		Clock: fake, Ages: true, GroupPolicy: limited(1), Group: func(item int) string { return fmt.Sprint(item % 10_000) },
	}
	s := newTestSet(t, config)
	for item := range 5000 {
		s.AddAfter(item, time.Hour)
	}
	oldest := func() time.Duration {
		var st Stats
		holds, visited := observe(s, idly, func() { st = s.Stats() })
		require.Equal(t, 1, holds)
		require.LessOrEqual(t, visited, mostGroupsAsked)
		return st.PerShard[0].OldestReady
	}
	require.Zero(t, oldest())
	const group = 7000
	s.Add(group)
	_, _ = s.Get()
	s.Add(group + 10_000)
	fake.Step(time.Second)
	require.Equal(t, time.Second, oldest(), "of the group that is throttled")
	for other := range 2 * mostGroupsAsked {
		s.Add(group + 1 + other)
		_, _ = s.Get()
		s.Add(group + 1 + other + 10_000)
	}
	require.Equal(t, 1+2*mostGroupsAsked, s.Stats().Throttled)
	require.Equal(t, time.Second, oldest())
	s.Done(group)
	_, _ = s.Get()
	require.Zero(t, oldest(), "it is not throttled any more")
}

// TestInspectOfFewAllocatesLittle: an inspection of two items neither sorts all
// priorities nor lists all groups.
func TestInspectOfFewAllocatesLittle(t *testing.T) {
	const items = 20_000
	s := largeSet(t, Config[int]{Ages: true}, items, items, 0, items)
	bytes := func(inspect func()) uint64 {
		var before, after runtime.MemStats
		inspect() // allocates what is made once
		runtime.ReadMemStats(&before)
		inspect()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	require.Less(t, bytes(func() { s.Inspect(2) }), uint64(16<<10))

	s = largeSet(t, Config[int]{Ages: true, Group: func(item int) string { return fmt.Sprint(item) }}, items, items, 0, 0)
	require.Less(t, bytes(func() { s.Inspect(2) }), uint64(512<<10), "the rows that are found in a hold, and a few more")
	require.Less(t, bytes(func() {
		for range s.Groups() {
			continue
		}
	}), uint64(256<<10))
}

// itemsIn returns the items of the rows.
func itemsIn[T comparable](rows iter.Seq[stats.Item[T]]) (items []T) {
	for row := range rows {
		items = append(items, row.Item)
	}
	return items
}

func itemsOfRows[T comparable](rows []stats.Item[T]) []T { return itemsIn(slices.Values(rows)) }

// TestC43ItemsInOrder: also from a shard that is read in pieces, ready items
// come in the order of the Gets, those in processing in the order of their
// hand-out, and delayed ones by their deadlines.
func TestC43ItemsInOrder(t *testing.T) {
	for _, items := range []int{rowsPerHold / 2, 10 * rowsPerHold} {
		for _, priorities := range []int{0, 7, items} {
			t.Run(fmt.Sprintf("items=%d/priorities=%d", items, priorities), func(t *testing.T) {
				s := largeSet(t, Config[int]{Ages: true}, items, items/2, items/4, priorities)
				for item := 0; item < items/2; item += 3 { // so that ids are not in order
					s.Cancel(item)
				}
				for item := items / 2; item >= 0; item-- {
					s.addAtPriority(item, item*7%max(1, priorities))
				}
				ready := itemsIn(s.Items(stats.Ready))
				processing, waiting := itemsIn(s.Items(stats.Processing)), itemsIn(s.Items(stats.Delayed))
				require.Len(t, waiting, items-items/2-items/4)
				require.IsDecreasing(t, waiting)
				require.Len(t, processing, items/4)
				got := []int{}
				for range ready {
					item, _ := s.Get()
					got = append(got, item)
				}
				require.Equal(t, got, ready)
				require.Zero(t, s.Len())
			})
		}
	}
}

// TestC43ItemsInOrderOfPlaces: where items keep their places, those that became
// ready late are shown in theirs.
func TestC43ItemsInOrderOfPlaces(t *testing.T) {
	for _, items := range []int{rowsPerHold / 2, 10 * rowsPerHold} {
		t.Run(fmt.Sprint(items), func(t *testing.T) {
			s := largeSet(t, Config[int]{Ages: true, Rules: Rules{KeepPlaces: true}}, items, items, 0, 0)
			held := make([]int, items/2)
			for i := range held {
				held[i], _ = s.Get()
			}
			for item := range items { // dirty items and new ones in turns
				s.Add(held[item%len(held)])
				s.Add(items + item)
			}
			for _, item := range held {
				s.Done(item)
			}
			ready := itemsIn(s.Items(stats.Ready))
			got := make([]int, len(ready))
			for i := range got {
				got[i], _ = s.Get()
			}
			require.Equal(t, got, ready)
			require.Zero(t, s.Len())
		})
	}
}

// TestC43ItemsOfGroupsInOrder: the items of a group come together, by their
// priorities.
func TestC43ItemsOfGroupsInOrder(t *testing.T) {
	const items, groups = 10 * rowsPerHold, 30
	s := largeSet(t, Config[int]{Group: func(item int) string { return fmt.Sprint(item % groups) }}, items, items, 0, 5)
	shown := itemsIn(s.Items(stats.Ready))
	require.Len(t, slices.CompactFunc(slices.Clone(shown), func(a, b int) bool { return a%groups == b%groups }), groups)
	byGroup := func(items []int) []int {
		slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(a%groups, b%groups) })
		return items
	}
	got := []int{}
	for range shown {
		item, _ := s.Get()
		got = append(got, item)
	}
	require.Equal(t, byGroup(got), byGroup(shown))
}

// TestC43InspectOfManyFindsTheFirst: an inspection that has to search finds the
// items that are longest in their state, and the next to expire.
func TestC43InspectOfManyFindsTheFirst(t *testing.T) {
	const each, limit = 10 * rowsPerHold, 2*rowsPerHold + 10
	for _, groups := range []int{0, 50} {
		for _, limit := range []int{2, limit, 3 * each} {
			t.Run(fmt.Sprintf("groups=%d/limit=%d", groups, limit), func(t *testing.T) {
				fake := clock.NewFake(start)
				config := Config[int]{Clock: fake, Ages: true}
				if groups > 0 {
					config.Group = func(item int) string { return fmt.Sprint(item * 31 % groups) }
				}
				s := newTestSet(t, config)
				for item := each - 1; item >= 0; item-- {
					s.Add(item)
					_, _ = s.Get()
					s.AddAfter(2*each+item, time.Hour+time.Duration(item)*time.Second)
					fake.Step(time.Millisecond)
				}
				for item := 2*each - 1; item >= each; item-- {
					s.Add(item)
					fake.Step(time.Millisecond)
				}
				found := s.Inspect(limit)
				n := min(limit, each)
				require.Equal(t, countdown(each, n), itemsOfRows(found.Processing))
				require.Equal(t, countdown(2*each, n), itemsOfRows(found.Ready))
				waiting := itemsOfRows(found.Delayed)
				require.Len(t, waiting, n)
				for i, item := range waiting {
					require.Equal(t, 2*each+i, item)
				}
			})
		}
	}
}

func countdown(from, n int) (items []int) {
	for i := range n {
		items = append(items, from-1-i)
	}
	return items
}

// TestC43InspectionsBesideChanges: whatever changes between two holds of the
// lock, an inspection misses no item that stays, and returns none twice.
func TestC43InspectionsBesideChanges(t *testing.T) {
	const each = 6 * rowsPerHold // in each state, that stay; the others are odd
	for _, groups := range []int{0, 20} {
		for _, ages := range []bool{false, true} {
			config := Config[int]{Ages: ages}
			if groups > 0 {
				config.Group = func(item int) string { return fmt.Sprint(item * 31 % groups) }
			}
			s := newTestSet(t, config)
			for i := range each { // each kind comes to lie among the others
				s.Add(2 * i)
				_, _ = s.Get()
				s.AddAfter(2*(each+i), time.Hour+time.Duration(i)*time.Millisecond)
			}
			for i := range each {
				s.Add(2 * (2*each + i))
				s.AddAfter(2*i+1, time.Minute) // the first to be met, and the first to expire
			}
			next := 0
			change := func() {
				// An item that was met comes back under another id, in another
				// place.
				for range 20 {
					next++
					odd := 2*(next%each) + 1
					s.Cancel(odd)
					s.Add(odd + 2*each)
					s.Cancel(odd + 2*each - 40)
					s.AddAfter(odd, time.Minute+time.Duration(next)*time.Millisecond)
				}
			}
			stays := func(first int, got []int) {
				t.Helper()
				seen := map[int]bool{}
				for _, item := range got {
					require.False(t, seen[item], "%d twice", item)
					seen[item] = true
				}
				for i := range each {
					require.True(t, seen[2*(first+i)], "%d is missing", 2*(first+i))
				}
			}
			for range 5 {
				for state, first := range map[stats.State]int{stats.Processing: 0, stats.Delayed: each, stats.Ready: 2 * each} {
					var got []int
					holds, _ := observe(s, change, func() { got = itemsIn(s.Items(state)) })
					require.Greater(t, holds, 4)
					stays(first, got)
				}
				var found Inspection[int]
				observe(s, change, func() { found = s.Inspect(100 * each) })
				stays(0, itemsOfRows(found.Processing))
				stays(each, itemsOfRows(found.Delayed))
				stays(2*each, itemsOfRows(found.Ready))
				all := slices.Concat(itemsOfRows(found.Processing), itemsOfRows(found.Ready), itemsOfRows(found.Delayed))
				slices.Sort(all)
				require.Len(t, slices.Compact(slices.Clone(all)), len(all), "in two states")
				checkSet(t, s)
			}
		}
	}
}

// TestC43GroupsBesideChanges: each group that has items all the time is yielded
// once, and one that is forgotten and comes back at most once.
func TestC43GroupsBesideChanges(t *testing.T) {
	const stay = 6 * rowsPerHold
	s := newTestSet(t, Config[int]{Group: func(item int) string { return fmt.Sprint(item) }})
	for i := range stay {
		s.Add(2 * i)
		s.Add(2*i + 1)
	}
	next := 0
	for range 5 {
		seen := map[string]int{}
		observe(s, func() {
			for range 30 { // groups that were yielded are forgotten, and come back behind the others
				odd := 2*(next%stay) + 1
				s.Cancel(odd)
				s.Cancel(odd + 20)
				s.Add(odd)
				next++
			}
		}, func() {
			for g := range s.Groups() {
				seen[g.Group]++
			}
		})
		for i := range stay {
			require.Equal(t, 1, seen[fmt.Sprint(2*i)])
			require.LessOrEqual(t, seen[fmt.Sprint(2*i+1)], 1)
		}
	}
	// All of them go, and others come.
	got := 0
	observe(s, func() {
		for i := range 2 * stay {
			s.Cancel(i)
		}
		s.Add(-1)
	}, func() {
		for g := range s.Groups() {
			require.NotEqual(t, "-1", g.Group)
			got++
		}
	})
	require.LessOrEqual(t, got, rowsPerHold)
}

// TestLevelsInOrder: the levels in the heap come from the highest to the
// lowest.
func TestLevelsInOrder(t *testing.T) {
	s := newTestSet(t, Config[int]{})
	for item := range 1000 {
		s.addAtPriority(item, item*7919%1000)
	}
	var priorities []int
	for v := range s.shard(0).ready.levels.inOrder() {
		priorities = append(priorities, v.priority)
	}
	require.Equal(t, countdown(999, 999), priorities)
}
