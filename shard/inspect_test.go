package shard

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	s.Core.probe = func(visited int) {
		holds++
		longest = max(longest, visited)
		meanwhile()
	}
	defer func() { s.Core.probe = nil }()
	fn()
	return holds, longest
}

func idly() {}

// inspections are all calls that read a set.
func inspections(s *Set[int]) map[string]func() {
	all := func(state stats.State) func() { return func() { _ = slices.Collect(s.Core.Items(state)) } }
	return map[string]func(){
		"Stats": func() { s.Core.Stats() }, "Len": func() { s.Core.Len() },
		"Inspect(2)": func() { s.Core.Inspect(2) }, "Inspect(1000)": func() { s.Core.Inspect(1000) }, "Inspect(MaxInt)": func() { s.Core.Inspect(math.MaxInt) },
		"Items(Ready)": all(stats.Ready), "Items(Processing)": all(stats.Processing), "Items(Delayed)": all(stats.Delayed),
		"Groups": func() { _ = slices.Collect(s.Core.Groups()) }, "TimeLeft": func() { s.Core.TimeLeft() },
	}
}

// largeSet returns a set of one shard. Some of its items are ready, some in
// processing, and the others delayed. So many delays are about as long as the
// next that the wheel cannot tell which is the next.
func largeSet(t testing.TB, config Config[int], items, ready, inProcessing, priorities int) *Set[int] {
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
						config := Config[int]{Settings: Settings{Ages: ages, GroupPolicy: limited(items)}}
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

// itemsIn returns the items of the rows.
func itemsIn(rows iter.Seq[stats.Item[any]]) (items []int) {
	for row := range rows {
		items = append(items, row.Item.(int))
	}
	return items
}

func itemsOfRows(rows []stats.Item[any]) []int { return itemsIn(slices.Values(rows)) }

// TestC43ItemsInOrder: ready items are shown in the order of Gets. Where items keep
// their places, those that became ready late are shown in theirs.
func TestC43ItemsInOrder(t *testing.T) {
	for i := range 4 {
		places, items := i < 2, []int{rowsPerHold / 2, 10 * rowsPerHold}[i%2]
		t.Run(fmt.Sprint(places, items), func(t *testing.T) {
			s := largeSet(t, Config[int]{Settings: Settings{Ages: true, Rules: Rules{KeepPlaces: places}}}, items, items, 0, 0)
			held := make([]int, items/2)
			for i := range held {
				held[i], _ = s.Get()
			}
			for item := range items { // dirty items and new ones in turns
				s.Add(held[item%len(held)])
				s.AddWith(items+item, Delay{Priority: item % 3})
			}
			for _, item := range held {
				s.Done(item)
			}
			ready := itemsIn(s.Core.Items(stats.Ready))
			got := make([]int, len(ready))
			for i := range got {
				got[i], _ = s.Get()
			}
			require.Equal(t, got, ready)
			require.Zero(t, s.Core.Len())
		})
	}
}

// TestC43InspectionsBesideChanges: whatever changes between two holds of the
// lock, an inspection misses no item that stays, and returns none twice.
func TestC43InspectionsBesideChanges(t *testing.T) {
	const each = 6 * rowsPerHold // in each state, that stay; the others are odd
	for _, groups := range []int{0, 20} {
		for _, ages := range []bool{false, true} {
			config := Config[int]{Settings: Settings{Ages: ages}}
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
					holds, _ := observe(s, change, func() { got = itemsIn(s.Core.Items(state)) })
					require.Greater(t, holds, 4)
					stays(first, got)
				}
				var found stats.Snapshot[any]
				observe(s, change, func() { found = s.Core.Inspect(100 * each) })
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
