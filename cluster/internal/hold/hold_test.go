package hold_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster/internal/hold"
)

type table = hold.Table[string, string]

func message(sequence uint64) hold.Message[string] {
	return hold.Message[string]{Sequence: sequence, Message: "m"}
}

func sequences(ms []hold.Message[string]) (all []uint64) {
	for _, m := range ms {
		all = append(all, m.Sequence)
	}
	return all
}

func add(t *testing.T, h *table, sequence uint64, waits bool, replaced ...uint64) {
	old, ok := h.Add("a", message(sequence))
	require.Equal(t, waits, ok)
	require.Equal(t, replaced, sequences(old))
}

func TestTheNewestMessageStandsForAll(t *testing.T) {
	h := hold.New[string, string](false)
	add(t, h, 5, true)
	add(t, h, 7, true, 5)
	add(t, h, 6, true, 6) // it is older than what waits
	require.Equal(t, []uint64{7}, sequences(h.Begin("a")))
	require.Empty(t, h.Begin("a"), "a run has it")
	add(t, h, 7, false) // delivered once more, while it runs
	add(t, h, 9, true)
	require.Len(t, h.Messages(), 2)
	require.True(t, h.Holds(7))
	require.False(t, h.Holds(8))
	require.True(t, h.End("a", true))
	require.Equal(t, []uint64{9}, sequences(h.Begin("a")))
	require.True(t, h.End("a", true))
	require.Zero(t, h.Len())
}

func TestARunServesEveryMessageInOrder(t *testing.T) {
	h := hold.New[string, string](true)
	for _, sequence := range []uint64{5, 3, 4, 4} {
		add(t, h, sequence, true)
	}
	require.Equal(t, []uint64{3, 4, 5}, sequences(h.Begin("a")))
	add(t, h, 6, true)
	require.False(t, h.End("a", false))
	require.Equal(t, []uint64{3, 4, 5, 6}, sequences(h.Begin("a")))
	add(t, h, 7, true)
	require.Empty(t, h.Cancel("a", 5), "6 came later")
	require.False(t, h.IsCanceled("a"))
	require.Equal(t, []uint64{7}, sequences(h.Cancel("a", 7)))
	require.True(t, h.IsCanceled("a"))
	add(t, h, 8, true)
	require.True(t, h.End("a", false), "it was canceled")
	require.Equal(t, []uint64{8}, sequences(h.Begin("a")))
	require.True(t, h.End("a", true))
	require.Zero(t, h.Len())
}

func TestAClosedTableGivesNothing(t *testing.T) {
	h := hold.New[string, string](true)
	add(t, h, 1, true)
	h.Begin("a")
	add(t, h, 2, true)
	require.Equal(t, []string{"a"}, h.Close())
	require.Empty(t, h.Close(), "their node may own them once more")
	add(t, h, 3, false)
	h.End("a", true)
	require.Empty(t, h.Begin("a"))
	require.Equal(t, 1, h.Len(), "what waited stays the servers'")
}
