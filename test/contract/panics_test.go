package contract

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A Drain that panics returns what it dropped with the next call.
func TestC42PanicInADrainLosesNothing(t *testing.T) {
	for _, retries := range []shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries} {
		for _, function := range []string{"Now", "AfterFunc", "Reset", "Stop", "OnWatermark", "Logger"} {
			for k, panicked := 1, true; panicked; k++ {
				var f faults
				q := shardq.MustNew(hookedOptions(f.call, false, newFake()))
				for item := range 4 {
					q.AddAfter(item, time.Hour)
				}
				var dropped []int
				drain := func() {
					items, err := q.Drain(t.Context(), shardq.DrainOptions{Retries: retries})
					require.NoError(t, err)
					dropped = append(dropped, items...)
				}
				f.arm(function, k)
				if panicked = caught(drain); panicked {
					drain()
				}
				require.ElementsMatch(t, numbers(4), dropped, "call %d of %s", k, function)
			}
		}
	}
}

// OnAdd and Watermarks.On are called although the clock panics with the item in
// place: when the timer is set, at the end of the window's add.
func TestC64C80PanicOfTheClockHidesNoAdd(t *testing.T) {
	for name, add := range map[string]func(q *shardq.Queue[int]){
		"AddWith": func(q *shardq.Queue[int]) { q.AddWith(1, shardq.AddOptions{NotAgainWithin: time.Hour}) },
		"TryAdd":  func(q *shardq.Queue[int]) { _ = q.TryAdd(1, shardq.AddOptions{NotAgainWithin: time.Hour}) },
	} {
		told := 0
		q := shardq.MustNew(shardq.Options[int]{
			Clock: hookedClock{newFake(), func(function string) {
				if function == "AfterFunc" {
					panic(function)
				}
			}},
			OnAdd:      func(stats.Add[int]) { told++ },
			Watermarks: shardq.Watermarks{High: 1, On: func(shardq.Watermark) { told++ }},
			Capacity:   1,
		})
		require.Panics(t, func() { add(q) }, name)
		requireCounts(t, q, 1, 0, 0)
		require.Equal(t, 2, told, name)
	}
}

// A group waits for no policy that a panic of the clock has kept from being asked for.
func TestC70PanicOfTheClockHoldsNoGroup(t *testing.T) {
	f, q := &faults{}, (*shardq.Queue[int])(nil)
	o := shardq.Options[int]{Clock: hookedClock{newFake(), f.call}, Group: strconv.Itoa}
	o.GroupPolicy = func(group string) (none shardq.GroupPolicy) {
		if group == "1" {
			q.RefreshGroup("other") // perhaps of a policy that has changed meanwhile
			f.arm("Now", 1)
		}
		return none
	}
	q = shardq.MustNew(o)
	require.True(t, caught(func() { q.Add(1) }))
	_, ok := q.TryClaim()
	require.True(t, ok)
}
