package main

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func numberedRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{Key: strconv.Itoa(i), Value: value{count: 1}}
	}
	return rows
}

func TestMergeAddsUpAndKeepsTheFirst(t *testing.T) {
	early, late := value{2, time.Second}, value{3, time.Minute}
	require.Equal(t, value{5, time.Second}, merge(early, late))
	require.Equal(t, value{5, time.Second}, merge(late, early))
}

// failed returns the keys that are chosen to fail.
func failed(t *testing.T, flags ...string) (keys []string) {
	t.Helper()
	p, _ := newTestPipeline(t, "", flags...)
	defer func() { require.NoError(t, p.sink.close()) }()
	rows := numberedRows(20_000)
	w := newWriting(p)
	errs := w.chooseFailures(rows)
	for i := range errs {
		if errs[i] != nil {
			keys = append(keys, rows[i].Key)
		}
	}
	require.Len(t, w.batch, len(rows)-len(keys), "no row is lost or doubled")
	return keys
}

func TestChooseFailuresTakesTheShare(t *testing.T) {
	for share, want := range map[string]int{"0": 0, "0.25": 5_000, "1": 20_000} {
		require.InDelta(t, want, len(failed(t, "-fail", share)), 400)
	}
}

func TestChooseFailuresIsDecidedByTheSeed(t *testing.T) {
	require.Equal(t, failed(t, "-fail", "0.5"), failed(t, "-fail", "0.5", "-seed", "1"))
	require.NotEqual(t, failed(t, "-fail", "0.5"), failed(t, "-fail", "0.5", "-seed", "2"))
}

// Events that were read are written, also if reading ends while the coalescer
// is full.
func TestReadersLeaveNothingBehind(t *testing.T) {
	p, _ := newTestPipeline(t, "", "-max-pending", "1")
	defer func() { require.NoError(t, p.sink.close()) }()
	ended, stop := context.WithCancel(t.Context())
	stop()
	r := &reading{pipeline: p}
	r.put(ended, map[string]*value{"a": {count: 1}, "b": {count: 2}})
	require.Equal(t, 2, p.events.Len())
}

// A histogram with three digits reports a little more than the delay.
func TestPercentilesAreNotAboveTheGreatest(t *testing.T) {
	w := written{delays: newDelays(), slowest: 1_234_567 * time.Microsecond}
	require.NoError(t, w.delays.RecordValue(int64(w.slowest)))
	r := report{written: w}
	require.Greater(t, w.delays.ValueAtPercentile(99), int64(w.slowest))
	require.Equal(t, "1,234.57 ms", r.delay(99))
	require.Equal(t, milliseconds(w.slowest), r.delay(50))
}

func TestCommitWritesAllOfABatchOrNothing(t *testing.T) {
	path := newDatabase(t)
	s, err := openSink(path, "test")
	require.NoError(t, err)
	batch := numberedRows(rowsPerStatement*2 + 3)
	require.NoError(t, s.commit(nil))
	require.NoError(t, s.commit(batch))
	require.NoError(t, s.commit(batch[:1]))

	require.NoError(t, s.execute("CREATE TRIGGER late BEFORE UPDATE ON ingest_counts WHEN new.key = '130' BEGIN SELECT raise(FAIL, 'enough'); END"))
	require.ErrorContains(t, s.commit(batch), "enough")
	require.NoError(t, s.execute("DROP TRIGGER late"))
	require.NoError(t, s.commit(batch[2:3]), "the failed transaction is over")
	require.NoError(t, s.finish(0))

	counts := totals(t, path)
	require.Len(t, counts, len(batch))
	require.Equal(t, 2, counts["0"])
	require.Equal(t, 1, counts["1"])
	require.Equal(t, 2, counts["2"])
}
