package shardqtest

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A Queue is what the functions named Require check: a [*shardq.Queue], a
// [shardq.View], or the view that the Queue method of a coalescer returns.
type Queue[T comparable] interface {
	shardq.Inspector
	// Lookup is [shardq.Queue.Lookup].
	Lookup(item T) (stats.Item[T], bool)
}

// RequireQueued fails the test unless item is ready, and returns what the queue
// knows of it. An item in processing is not ready: see [RequireProcessing].
func RequireQueued[T comparable](t TB, queue Queue[T], item T) stats.Item[T] {
	t.Helper()
	return requireState(t, queue, item, stats.Ready)
}

// RequireDelayed fails the test unless item is delayed, and its delay expires
// in that time, or less than a tick later. An item that is ready or in
// processing may be delayed as well.
func RequireDelayed[T comparable](t TB, queue Queue[T], item T, remaining time.Duration) {
	t.Helper()
	now := queue.Inspect().Snapshot(0).Time
	found, held := queue.Lookup(item)
	if !held || found.Deadline.IsZero() {
		t.Fatalf("shardqtest: %s is %s: want it delayed\n%s", written(item), stateOf(found, held), contents(queue))
	}
	late := found.Deadline.Sub(now) - remaining
	if late < 0 || late >= max(queue.Inspect().Configuration().Tick, 1) {
		t.Fatalf("shardqtest: the delay of %s expires in %v: want %v\n%s",
			written(item), found.Deadline.Sub(now), remaining, contents(queue))
	}
}

// RequireProcessing fails the test unless item is in processing, and returns
// what the queue knows of it, such as whether it will run once more.
func RequireProcessing[T comparable](t TB, queue Queue[T], item T) stats.Item[T] {
	t.Helper()
	return requireState(t, queue, item, stats.Processing)
}

// RequireAbsent fails the test if the queue holds item, in any state.
func RequireAbsent[T comparable](t TB, queue Queue[T], item T) {
	t.Helper()
	if found, held := queue.Lookup(item); held {
		t.Fatalf("shardqtest: %s is %s: want the queue not to hold it\n%s",
			written(item), stateOf(found, held), contents(queue))
	}
}

// RequireIdle fails the test if the queue holds an item: ready, in processing,
// or delayed.
func RequireIdle(t TB, queue shardq.Inspector) {
	t.Helper()
	if n := queue.Stats().Held; n != 0 {
		t.Fatalf("shardqtest: the queue holds %d items: want none\n%s", n, contents(queue))
	}
}

func requireState[T comparable](t TB, queue Queue[T], item T, want stats.State) stats.Item[T] {
	t.Helper()
	found, held := queue.Lookup(item)
	if !held || found.State != want {
		t.Fatalf("shardqtest: %s is %s: want it %v\n%s", written(item), stateOf(found, held), named(want), contents(queue))
	}
	return found
}

// stateOf writes the state of an item.
func stateOf[T comparable](found stats.Item[T], held bool) string {
	switch {
	case !held:
		return "not in the queue"
	case found.Dirty:
		return fmt.Sprintf("%s, and will run once more", named(found.State))
	}
	return named(found.State)
}

// named writes a state as a part of a sentence.
func named(state stats.State) string {
	if state == stats.Processing {
		return "in processing"
	}
	return state.String()
}
