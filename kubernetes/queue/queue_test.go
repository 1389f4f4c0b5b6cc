package queue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/kubernetes/queue"
)

// TestCycleDoesNotAllocate: once an item is known, and while the instruments do not
// need the figures.
func TestCycleDoesNotAllocate(t *testing.T) {
	n := ignored{}
	q, err := queue.New(queue.Options[int]{Priority: true, Scraped: true, Instruments: &queue.Instruments{
		Depth: depths{}, Adds: n, Retries: n, Latency: n, WorkDuration: n, Unfinished: n, LongestRunning: n,
	}})
	require.NoError(t, err)
	defer q.ShutDown()
	cycle := func() {
		q.AddAfter(1, time.Hour)
		q.Add(1)
		item, _ := q.Get()
		q.Done(item)
	}
	for range 200 { // after 128 operations, only a tick would bring them up to date
		cycle()
	}
	require.Zero(t, testing.AllocsPerRun(1000, cycle))
}

type depths struct{ ignored }

func (depths) Dec() {}
