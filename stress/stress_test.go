package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// TestRounds runs a fair number of small rounds, of every kind that there is.
func TestRounds(t *testing.T) {
	require.NoError(t, run(time.Hour, 1, 2000, 40))
}

// TestLedgerSeesViolations breaks each rule by hand: a check that cannot fail
// would prove nothing.
func TestLedgerSeesViolations(t *testing.T) {
	twice := newLedger(2)
	twice.begin(0)
	twice.begin(0)
	require.ErrorContains(t, twice.violation, "C1")

	early := newLedger(2)
	early.wantAfter(1, time.Hour)
	early.begin(1)
	require.ErrorContains(t, early.violation, "C19")

	queue := shardq.Must(shardq.Options[int]{})
	lost := newLedger(2)
	lost.want(0)
	_, err := lost.settle(queue)
	require.ErrorContains(t, err, "C2")

	left := newLedger(2)
	queue.Add(0)
	_, err = left.settle(queue)
	require.ErrorContains(t, err, "C12")
}
