package contract

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shardqtest"
	"github.com/shardq/shardq/worker"
)

// newScriptedQueue returns a queue with options, and a script for its items
// that has each outcome.
func newScriptedQueue(o shardq.Options[string]) (*shardq.Queue[string], *shardqtest.Script[string]) {
	o.Shards = 1
	script := shardqtest.NewScript[string](nil)
	script.For("fails").Fail(3)
	script.For("panics").Panic("oops").Goexit().Panic(errOnPurpose)
	script.For("permanent").Fail(1).Return(worker.Permanent(errOnPurpose))
	script.For("again").Return(worker.RequeueAfter(time.Second)).Fail(1).Return(worker.RequeueAfter(0))
	script.For("exhausted").Fail(5)
	script.For("slow").Block()
	return shardq.MustNew(o), script
}

// A history notes what a handler and its hooks were called with, and when.
type history struct {
	start time.Time
	now   func() time.Time
	lines []string
}

func (h *history) options(script *shardqtest.Script[string]) worker.Options[string] {
	note := func(what, item string, number int) {
		h.lines = append(h.lines, fmt.Sprintf("%v %s %s %d", h.now().Sub(h.start), what, item, number))
	}
	return worker.Options[string]{
		Workers: 1, MaxAttempts: 5, Timeout: time.Minute,
		Handle: func(ctx context.Context, item string) error {
			note("handle", item, script.Attempts(item)+1)
			return script.Handle(ctx, item)
		},
		OnError:   func(_ context.Context, f worker.Failure[string]) { note("failed", f.Item, f.Attempt) },
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { note("discarded", f.Item, f.Attempt) },
	}
}

func addScripted(q *shardq.Queue[string]) {
	q.AddBatch([]string{"fails", "panics", "permanent", "again", "exhausted", "slow"}, shardq.AddOptions{})
	q.AddAfter("later", time.Hour)
}

// A driver makes the calls that a pool of one worker makes, in the same order
// and at the same times.
func TestC83DriverRunsWhatAPoolRuns(t *testing.T) {
	run := func(t *testing.T, run func(t *testing.T, q *shardq.Queue[string], o worker.Options[string])) (lines []string) {
		synctest.Test(t, func(t *testing.T) {
			q, script := newScriptedQueue(shardq.Options[string]{})
			h := &history{start: time.Now(), now: time.Now}
			addScripted(q)
			run(t, q, h.options(script))
			requireCounts(t, q, 0, 0, 0)
			script.RequirePlayed(t)
			lines = h.lines
		})
		return lines
	}
	ofAPool := run(t, func(t *testing.T, q *shardq.Queue[string], o worker.Options[string]) {
		s := startPool(t, q, o)
		require.NoError(t, q.WaitIdle(t.Context()))
		s.stopPool(t)
	})
	ofADriver := run(t, func(t *testing.T, q *shardq.Queue[string], o worker.Options[string]) {
		shardqtest.Drive(t, q, nil, o).RunUntilIdle()
	})
	require.Len(t, ofAPool, 39)
	require.Equal(t, ofAPool, ofADriver)
}
