package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTasksSettle: a task is settled when its last value was written in this
// round, and not before.
func TestTasksSettle(t *testing.T) {
	all := newTasks(100)
	require.Equal(t, 20, all.flood)
	round := all.beginRound()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, all.wait(ended), "100 tasks are not reconciled")
	for _, key := range all.keys {
		all.wrote(key, TaskStatus{Seen: 1, Round: round - 1})
		all.wrote(key, TaskStatus{Seen: 0, Round: round})
	}
	require.Equal(t, 100, all.left())
	for _, key := range all.keys {
		all.wrote(key, TaskStatus{Seen: 1, Round: round})
		all.wrote(key, TaskStatus{Seen: 1, Round: round})
	}
	require.NoError(t, all.wait(t.Context()))
	all.update(all.keys[3], func(s *taskState) { s.value++ })
	require.ErrorContains(t, all.wait(ended), "1 tasks")
	all.wrote(all.keys[3], TaskStatus{Seen: 2, Round: round})
	require.NoError(t, all.wait(t.Context()))
	all.beginRound()
	require.Equal(t, 100, all.left())
}

func TestKeyOf(t *testing.T) {
	require.Equal(t, "tenant-1/task-7", keyOf(pathOf("tenant-1", "task-7")))
}

func TestOptions(t *testing.T) {
	good := options{tasks: 1000, workers: 1, rounds: 1}
	names, err := good.validate("client-go,shardq")
	require.NoError(t, err)
	require.Equal(t, []string{"client-go", "shardq"}, names)
	_, err = good.validate("shardq,other")
	require.ErrorContains(t, err, `no queue "other"`)
	for _, bad := range []options{
		{tasks: 99, workers: 1, rounds: 1}, {tasks: 100, rounds: 1}, {tasks: 100, workers: 1},
		{tasks: 100, workers: 1, rounds: 1, down: -1}, {tasks: 100, workers: 1, rounds: 1, work: -1},
	} {
		_, err := bad.validate("shardq")
		require.Error(t, err)
	}
}

func TestShort(t *testing.T) {
	require.Equal(t, "1.23s", short(1234567891*time.Nanosecond))
	require.Equal(t, "0s", short(0))
	require.Equal(t, "13.2µs", short(13249*time.Nanosecond))
}

func TestTimings(t *testing.T) {
	var all timings
	for i := 100; i > 0; i-- {
		all.add(time.Duration(i))
	}
	require.Equal(t, timing{100, 51, 100, 100}, all.timing())
	require.Zero(t, timingOf(nil))
}

func TestMedianOf(t *testing.T) {
	round := func(n int) outcome {
		d := time.Duration(n)
		return outcome{queue: "q", initial: d, left: 1, report: report{
			Doubled: 1, Parts: map[string]timing{partFlood: {Count: n, Median: d, P99: 10 * d}},
		}}
	}
	got := medianOf([]outcome{round(3), round(1), round(2)})
	require.Equal(t, outcome{queue: "q", initial: 2, left: 3, report: report{
		Doubled: 3, Parts: map[string]timing{partFlood: {Count: 2, Median: 2, P99: 20}},
	}}, got)
}
