package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

// TestPostpone: an item in processing is delayed. Adds made meanwhile are
// served by the run after the delay, or go first.
func TestPostpone(t *testing.T) {
	for _, config := range []Config[int]{
		{}, {Settings: Settings{Ages: true, Metrics: true}}, {Settings: Settings{Ages: true}, Group: func(int) string { return "g" }},
	} {
		for _, dirty := range []bool{false, true} {
			for _, policy := range []DelayPolicy{KeepLatest, KeepEarliest} {
				fake := clock.NewFake(start)
				config.Clock, config.Shards = fake, 2
				s := newTestSet(t, config)
				at := s.HandleOf(1)
				require.False(t, s.Core.Postpone(at, s.DeadlineIn(time.Second), policy), "it is not in processing")
				s.Add(1)
				require.False(t, s.Core.Postpone(at, s.DeadlineIn(time.Second), policy), "it is not in processing")
				s.Get()
				at = s.HandleOf(1)
				if dirty {
					s.Add(1)
				}
				require.True(t, s.Core.Postpone(at, s.DeadlineIn(time.Second), policy))
				addTo(s, 1, true)
				checkSet(t, s)
				s.DoneAt(1, at)
				checkSet(t, s)
				waits := !dirty || policy != KeepEarliest
				require.Equal(t, waits, s.Core.Len() == 0)
				if waits {
					addTo(s, 1, true)
					require.Zero(t, s.Core.Len(), "it does not stay delayed")
					fake.Step(time.Second)
				}
				require.Equal(t, 1, s.Core.Len())
				s.Get()
				require.False(t, s.Core.End(at), "it is another processing")
				s.Done(1)
				require.Zero(t, s.Core.Stats().Held)
			}
		}
	}
}

// TestPostponeOfADelayedItem: the policy chooses between the delay and one that
// began during the processing.
func TestPostponeOfADelayedItem(t *testing.T) {
	for _, test := range []struct {
		policy        DelayPolicy
		before, given int // seconds
		want          int
	}{
		{KeepEarliest, 9, 2, 2}, {KeepEarliest, 2, 9, 2}, {KeepLatest, 9, 2, 9}, {KeepLatest, 2, 9, 9},
		{KeepNew, 9, 2, 2}, {KeepNew, 2, 9, 9},
	} {
		fake := clock.NewFake(start)
		s := newTestSet(t, Config[int]{Settings: Settings{Shards: 1, Clock: fake}})
		s.Add(1)
		s.Get()
		s.AddWith(1, Delay{Duration: time.Duration(test.before) * time.Second, MaxWait: time.Hour})
		at := s.HandleOf(1)
		require.True(t, s.Core.Postpone(at, s.DeadlineIn(time.Duration(test.given)*time.Second), test.policy))
		s.Core.End(at)
		checkSet(t, s)
		fake.Step(time.Duration(test.want)*time.Second - 1)
		require.Zero(t, s.Core.Len(), "%+v", test)
		fake.Step(1)
		require.Equal(t, 1, s.Core.Len(), "%+v", test)
		s.Get()
		s.Done(1)
		require.Zero(t, s.Core.Stats().Held)
	}
}

// addTo is AddTo at the address of the item.
func addTo(s *Set[int], item int, keepDelay bool) {
	var a Address
	s.SetAddress(&a, item)
	s.AddTo(item, &a, keepDelay)
}

// TestPostponeKeepsPriorities: the next run has the highest priority of the
// adds during the processing and of the deadline.
func TestPostponeKeepsPriorities(t *testing.T) {
	for _, policy := range []DelayPolicy{KeepLatest, KeepEarliest} {
		for _, closing := range []bool{false, true} {
			for _, priorities := range [][2]int{{3, 7}, {7, 3}, {-2, 0}, {0, -2}} {
				fake := clock.NewFake(start)
				s := newTestSet(t, Config[int]{Settings: Settings{Clock: fake}})
				s.Add(1)
				s.Get()
				at := s.HandleOf(1)
				s.AddWith(1, Delay{Priority: priorities[0]})
				if closing {
					s.Core.ShutDown()
				}
				d := s.Core.DeadlineOf(Delay{Duration: time.Second, Priority: priorities[1]})
				require.True(t, s.Core.Postpone(at, d, policy))
				s.DoneAt(1, at)
				fake.Step(time.Second)
				checkSet(t, s)
				_, priority, _, err := s.Take(t.Context())
				require.NoError(t, err)
				require.Equal(t, max(priorities[0], priorities[1]), priority)
			}
		}
	}
}
