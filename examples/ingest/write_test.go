package main

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func numberedWrites(n int) []write {
	writes := make([]write, n)
	for i := range writes {
		writes[i].key = strconv.Itoa(i)
	}
	return writes
}

func TestChooseFailuresTakesTheShare(t *testing.T) {
	const n = 20_000
	for share, want := range map[float64]int{0: 0, 0.25: n / 4, 1: n} {
		batch := numberedWrites(n)
		good := chooseFailures(batch, share, rand.New(rand.NewPCG(1, 0)))
		require.InDelta(t, want, n-good, n/50)
		seen := map[string]bool{}
		for _, w := range batch {
			seen[w.key] = true
		}
		require.Len(t, seen, n, "no write is lost or doubled")
	}
}

func TestChooseFailuresIsDecidedByTheSeed(t *testing.T) {
	failures := func(seed uint64) []write {
		batch := numberedWrites(100)
		good := chooseFailures(batch, 0.5, rand.New(rand.NewPCG(seed, 0)))
		return batch[good:]
	}
	require.Equal(t, failures(1), failures(1))
	require.NotEqual(t, failures(1), failures(2))
}

func TestGatherBoundsABatch(t *testing.T) {
	w := &writing{writes: make(chan write, 2*maxBatch)}
	for _, one := range numberedWrites(maxBatch + 2) {
		w.writes <- one
	}
	require.Len(t, w.gather(nil), maxBatch)
	require.Len(t, w.gather(nil), 2, "what is there, without waiting for more")
	w.writes <- write{}
	close(w.writes)
	require.Len(t, w.gather(nil), 1)
	require.Empty(t, w.gather(nil), "no more")
}

// doneFirst is an engine that sees whether values are settled before their key is
// done.
type doneFirst struct {
	engine
	t       *testing.T
	pending *pending
	done    []string
}

func (e *doneFirst) Done(key string) {
	require.False(e.t, isSettled(e.pending))
	e.done = append(e.done, key)
}

func (e *doneFirst) Forget(string)          {}
func (e *doneFirst) NumRequeues(string) int { return 0 }

// A drain that began between the two could wait for a key that nobody takes.
func TestCommitSettlesAfterDone(t *testing.T) {
	p, _ := newTestPipeline(t, "", "-attempts", "1")
	queue := &doneFirst{t: t, pending: p.pending}
	p.queue = queue
	var batch []write
	for _, key := range []string{"good", "given up"} {
		p.pending.add(key)
		taken, _ := p.pending.take(key)
		batch = append(batch, write{key, taken})
	}
	p.pending.seal()
	w := &writing{stage: p.stage, sink: p.sink, result: written{delays: newDelays()}}
	w.commit(batch, 1)
	require.Equal(t, []string{"good", "given up"}, queue.done)
	require.True(t, isSettled(p.pending))
	require.NoError(t, p.sink.close())
}

func TestCommitWritesAllOfABatchOrNothing(t *testing.T) {
	path := newDatabase(t)
	s, err := openSink(path, "test")
	require.NoError(t, err)
	batch := numberedWrites(rowsPerStatement*2 + 3)
	for i := range batch {
		batch[i].count = 1
	}
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
