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
)

// Workers against a model of them: what comes of an item follows from its answers alone,
// whatever the number of workers, the sizes of batches, and resizes.
func TestWorkersBehaveAsTheirModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { playWorkers(rt) })
	})
}

// answers are what a handler returns for an item, one letter for each run: s succeeds, f
// fails, p panics, x exits, a requeues, and g gives up.
type answers struct {
	letters string
	runs    int
}

// expected is what is to come of them: how many runs, failures, and give-ups.
func (s answers) expected(most int) (runs, failures, givenUp int) {
	attempt := 0
	for _, letter := range s.letters {
		runs++
		switch letter {
		case 's':
			return runs, failures, givenUp
		case 'a':
			attempt = 0
			continue
		case 'g':
			return runs, failures + 1, givenUp + 1
		}
		failures++
		if attempt++; most > 0 && attempt == most {
			return runs, failures, givenUp + 1
		}
	}
	return runs + 1, failures, givenUp // it succeeds in the end
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
		return shardq.RequeueAfter(time.Second)
	case 'g':
		return shardq.Permanent(errOnPurpose)
	}
	return nil
}

// perItem makes of a letter what is to come of one item of a batch, where a panic would be
// the failure of all.
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
	o := shardq.WorkerOptions[int]{
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
	q := shardq.Must(shardq.Options[int]{Shards: rapid.SampledFrom([]int{1, 3}).Draw(rt, "shards")})
	var failures, givenUp = make([]atomic.Int32, len(scripts)), make([]atomic.Int32, len(scripts))
	o.OnError = func(f shardq.Failure[int]) { failures[f.Item].Add(1) }
	o.OnGiveUp = func(f shardq.Failure[int]) { givenUp[f.Item].Add(1) }
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
	w, err := shardq.NewWorkers(q, o)
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
	for item, s := range scripts {
		runs, failed, gaveUp := s.expected(o.MaxAttempts)
		require.Equal(rt, runs, s.runs, "runs of %q", s.letters)
		require.EqualValues(rt, failed, failures[item].Load(), "failures of %q", s.letters)
		require.EqualValues(rt, gaveUp, givenUp[item].Load(), "give-ups of %q", s.letters)
	}
}
