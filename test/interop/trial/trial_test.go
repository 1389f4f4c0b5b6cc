//go:build trial

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLeft: a task is settled when its last value was reconciled in this round.
func TestLeft(t *testing.T) {
	all := newTasks(100, nil)
	require.Equal(t, 20, all.flood)
	all.round = 2
	require.EqualValues(t, 1, all.next("flood/task-3"))
	one := task{Status: taskStatus{Seen: 1, Round: 2}}
	one.Metadata.Namespace, one.Metadata.Name = "flood", "task-3"
	require.Equal(t, 99, all.left([]task{one}))
	one.Status.Round--
	require.Equal(t, 100, all.left([]task{one}))
	one.Status.Round++
	all.next("flood/task-3")
	require.Equal(t, 100, all.left([]task{one}))
}
