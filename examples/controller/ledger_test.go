package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var one, two = Key{"tenant-1", "one"}, Key{"tenant-1", "two"}

func (l *ledger) isAtRest() bool { return l.unsettled() == 0 }

func (l *ledger) change(key Key) { l.changed(key, time.Now()) }

func TestLedgerCountsDeduplicatedChanges(t *testing.T) {
	l := newLedger()
	l.list(one, inInitialList)
	l.change(one)
	l.change(one)
	asked, end := l.begin(one)
	require.True(t, asked)
	end()
	asked, _ = l.begin(two)
	require.False(t, asked)
	require.Equal(t, 2, l.tallies["tenant-1"].deduplicated)
	require.Equal(t, 2, l.tallies["tenant-1"].changes)
	require.Equal(t, 2, l.tallies["tenant-1"].reconciles)
}

func TestLedgerIsAtRestWhenAllIsServed(t *testing.T) {
	l := newLedger()
	require.True(t, l.isAtRest())
	l.list(one, inInitialList)
	l.change(two)
	l.begin(one)
	l.converged(one)
	require.False(t, l.isAtRest())
	l.begin(two)
	l.change(two) // during a turn
	l.converged(two)
	require.False(t, l.isAtRest(), "the change is after the turn began")
	l.begin(two)
	l.retried(two)
	l.begin(two)
	l.discarded(two, true)
	require.True(t, l.isAtRest())
	require.Equal(t, 1, l.tallies["tenant-1"].retries)
	require.Equal(t, 1, l.tallies["tenant-1"].refused)
}

func TestLedgerMeasuresFromTheFirstChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		l.list(one, inInitialList)
		l.list(two, inInitialList)
		time.Sleep(time.Second)
		l.change(one)
		time.Sleep(time.Second)
		l.change(one)
		l.begin(one)
		l.retried(one)
		time.Sleep(time.Second)
		l.change(one)
		l.begin(one)
		l.converged(one)
		require.Equal(t, 2*time.Second, l.delays[besideList].longest)
		require.Equal(t, 2*time.Second, l.tallies["tenant-1"].delays.longest)
		require.Zero(t, l.delays[inInitialList].histogram.TotalCount(), "it counts as a change")
	})
}

func TestLedgerDistinguishesCauses(t *testing.T) {
	l := newLedger()
	flood := Key{floodingTenant, "x"}
	require.Equal(t, besideNothing, l.situation(one))
	l.change(flood)
	require.Equal(t, besideFlood, l.situation(one))
	l.list(two, inInitialList)
	require.Equal(t, besideList, l.situation(one))
	require.Equal(t, flooding, l.situation(flood))
}

func TestLedgerFindsOverlaps(t *testing.T) {
	l := newLedger()
	_, end := l.begin(one)
	l.begin(two)
	end()
	l.begin(one)
	require.Zero(t, l.overlaps)
	l.begin(one)
	require.Equal(t, 1, l.overlaps)
}

func TestPercentilesAreNotAboveTheLongest(t *testing.T) {
	d := newDelays()
	require.Equal(t, "–\t–\t–", d.String())
	d.record(12_345_678 * time.Microsecond)
	require.Equal(t, "12,345.7 ms\t12,345.7 ms\t12,345.7 ms", d.String())
	d.record(2 * maxDelay)
	require.Contains(t, d.String(), "\t7,200,000.0 ms")
}
