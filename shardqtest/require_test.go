package shardqtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shardqtest"
)

// newMixedQueue returns a queue that holds an item in each state.
func newMixedQueue() *shardq.Queue[string] {
	q := shardq.MustNew(shardq.Options[string]{Name: "mail", Shards: 1, Clock: newFake()})
	q.AddWith("dirty", shardq.AddOptions{})
	q.Get()
	q.Add("dirty")
	q.AddWith("urgent", shardq.AddOptions{Priority: 5})
	q.Add("ready")
	q.AddAfter("later", time.Hour)
	q.AddAfter("soon", 1500*time.Microsecond)
	return q
}

const mixed = "\n" + `The queue "mail" holds 5 items.
  ready: 2
    urgent (priority 5)
    ready
  in processing: 1
    dirty (will run once more)
  delayed: 2
    soon (delay expires in 2ms)
    later (delay expires in 1h0m0s)`

func TestRequirementsThatHold(t *testing.T) {
	q := newMixedQueue()
	require.Equal(t, 5, shardqtest.RequireQueued(t, q, "urgent").Priority)
	require.True(t, shardqtest.RequireProcessing(t, q, "dirty").Dirty)
	shardqtest.RequireDelayed(t, q, "later", time.Hour)
	shardqtest.RequireDelayed(t, q, "soon", 1500*time.Microsecond) // to the tick
	shardqtest.RequireAbsent(t, q, "other")
	q.AddAfter("ready", time.Minute)
	shardqtest.RequireDelayed(t, q, "ready", time.Minute) // beside the state
	shardqtest.RequireQueued(t, q, "ready")
	shardqtest.RequireIdle(t, shardq.MustNew(shardq.Options[string]{}))
}

func TestRequirementsThatDoNotHold(t *testing.T) {
	q := newMixedQueue()
	for want, f := range map[string]func(stub){
		"other is not in the queue: want it ready":                      func(t stub) { shardqtest.RequireQueued(t, q, "other") },
		"later is delayed: want it ready":                               func(t stub) { shardqtest.RequireQueued(t, q, "later") },
		"dirty is in processing, and will run once more: want it ready": func(t stub) { shardqtest.RequireQueued(t, q, "dirty") },
		"ready is ready: want it delayed":                               func(t stub) { shardqtest.RequireDelayed(t, q, "ready", time.Hour) },
		"other is not in the queue: want it delayed":                    func(t stub) { shardqtest.RequireDelayed(t, q, "other", time.Hour) },
		"the delay of later expires in 1h0m0s: want 1h0m0.001s":         func(t stub) { shardqtest.RequireDelayed(t, q, "later", time.Hour+time.Millisecond) },
		"the delay of later expires in 1h0m0s: want 59m59.999s":         func(t stub) { shardqtest.RequireDelayed(t, q, "later", time.Hour-time.Millisecond) },
		"ready is ready: want it in processing":                         func(t stub) { shardqtest.RequireProcessing(t, q, "ready") },
		"later is delayed: want the queue not to hold it":               func(t stub) { shardqtest.RequireAbsent(t, q, "later") },
		"the queue holds 5 items: want none":                            func(t stub) { shardqtest.RequireIdle(t, q) },
	} {
		requireFailure(t, "shardqtest: "+want+mixed, f)
	}
}
