package contract

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// TestWorkersBehaveAsTheirModel compares workers with a model. The outcome of
// an item depends only on its answers, not on the number of workers, the sizes
// of batches, or resizes.
func TestWorkersBehaveAsTheirModel(t *testing.T) {
	testscale.Rapid(100)
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { playWorkers(rt) })
	})
}

// answers are the results of a handler for an item, one letter for each run: s
// succeeds, f fails, p panics, x exits, a requeues, and g is permanent.
type answers struct {
	letters string
	runs    int
}

// results returns the attempts by result, and the numbers of failures and
// discards. In a batch, a panic is an error.
func (s answers) results(most int, batches bool) (results [stats.Results]uint64, failures, discarded int) {
	runs, failures, discarded := s.expected(most)
	for i := range runs {
		result := stats.Succeeded // beyond the letters
		if i < len(s.letters) {
			result = map[byte]stats.Result{
				's': stats.Succeeded, 'f': stats.Failed, 'p': stats.Panicked, 'x': stats.Panicked,
				'a': stats.Requeued, 'g': stats.Failed,
			}[s.letters[i]]
		}
		if result == stats.Panicked && batches {
			result = stats.Failed
		}
		if i == runs-1 && discarded == 1 {
			result = stats.Discarded
		}
		results[result]++
	}
	return results, failures, discarded
}

// expected returns the numbers of runs, failures, and discards.
func (s answers) expected(most int) (runs, failures, discarded int) {
	attempt := 0
	for _, letter := range s.letters {
		runs++
		switch letter {
		case 's':
			return runs, failures, discarded
		case 'a':
			attempt = 0
			continue
		case 'g':
			return runs, failures + 1, discarded + 1
		}
		failures++
		if attempt++; most > 0 && attempt == most {
			return runs, failures, discarded + 1
		}
	}
	return runs + 1, failures, discarded // finally it succeeds
}

func (s *answers) answer() error {
	if s.runs++; s.runs > len(s.letters) {
		return nil
	}
	switch s.letters[s.runs-1] {
	case 'f':
		return errOnPurpose
	case 'p':
		panic("on purpose")
	case 'x':
		runtime.Goexit()
	case 'a':
		return worker.RequeueAfter(time.Second)
	case 'g':
		return worker.Permanent(errOnPurpose)
	}
	return nil
}

// perItem turns a letter into the error of one item of a batch, where a panic
// would fail all items.
func (s *answers) perItem() (err error) {
	returned := false
	defer func() {
		if !returned && recover() != nil {
			err = errOnPurpose
		}
	}()
	err = s.answer()
	returned = true
	return err
}

func playWorkers(rt *rapid.T) {
	letters := "sfpag"
	o := worker.Options[int]{
		Workers:     rapid.IntRange(1, 4).Draw(rt, "workers"),
		MaxAttempts: rapid.IntRange(0, 3).Draw(rt, "MaxAttempts"),
	}
	batches := rapid.Bool().Draw(rt, "batches")
	if !batches {
		letters += "x"
	}
	scripts := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) *answers {
		return &answers{letters: rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 0, 6, -1).Draw(rt, "answers")}
	}), 1, 8).Draw(rt, "scripts")
	q := shardq.MustNew(shardq.Options[int]{Shards: rapid.SampledFrom([]int{1, 3}).Draw(rt, "shards"), Metrics: true})
	var failures, discarded = make([]atomic.Int32, len(scripts)), make([]atomic.Int32, len(scripts))
	o.OnError = func(_ context.Context, f worker.Failure[int]) { failures[f.Item].Add(1) }
	o.OnDiscard = func(_ context.Context, f worker.Failure[int]) { discarded[f.Item].Add(1) }
	if batches {
		o.BatchSize = rapid.IntRange(1, 5).Draw(rt, "BatchSize")
		o.HandleBatch = func(_ context.Context, items []int) (errs []error) {
			for _, item := range items {
				errs = append(errs, scripts[item].perItem())
			}
			return errs
		}
	} else {
		o.Handle = func(_ context.Context, item int) error { return scripts[item].answer() }
	}
	w, err := worker.New(q, o)
	require.NoError(rt, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := returned(func() { require.NoError(rt, w.Run(ctx)) })
	for item := range scripts {
		q.Add(item)
		if rapid.Bool().Draw(rt, "resize") {
			w.Resize(rapid.IntRange(0, 5).Draw(rt, "to"))
		}
		time.Sleep(time.Duration(rapid.IntRange(0, 2000).Draw(rt, "pause")) * time.Millisecond)
	}
	w.Resize(o.Workers)
	time.Sleep(time.Hour)
	synctest.Wait()
	require.Equal(rt, o.Workers, w.Len())
	cancel()
	synctest.Wait()
	require.True(rt, ended())
	require.Zero(rt, q.Stats().Held)
	requireResults(rt, q, scripts, o.MaxAttempts, batches)
	for item, s := range scripts {
		runs, failed, gaveUp := s.expected(o.MaxAttempts)
		require.Equal(rt, runs, s.runs, "runs of %q", s.letters)
		require.EqualValues(rt, failed, failures[item].Load(), "failures of %q", s.letters)
		require.EqualValues(rt, gaveUp, discarded[item].Load(), "give-ups of %q", s.letters)
	}
}

// requireResults compares the attempts that the queue has counted, and the
// failures that it has kept, with those of the scripts.
func requireResults(rt *rapid.T, q *shardq.Queue[int], scripts []*answers, most int, batches bool) {
	var want, got [stats.Results]uint64
	failures, discarded := 0, 0
	for _, s := range scripts {
		results, failed, gaveUp := s.results(most, batches)
		for result, n := range results {
			want[result] += n
		}
		failures, discarded = failures+failed, discarded+gaveUp
	}
	st := q.Stats()
	for result, h := range st.Metrics.Attempts.All() {
		got[result] = h.Count
	}
	require.Equal(rt, want, got)
	require.Equal(rt, st.Discarded, got[stats.Discarded])
	keptFailures, keptDiscards := q.RecentFailures(1000)
	require.Len(rt, keptFailures, min(64, failures-discarded))
	require.Len(rt, keptDiscards, discarded)
}
