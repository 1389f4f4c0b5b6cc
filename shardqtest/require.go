package shardqtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/keytext"
	"github.com/shardq/shardq/stats"
)

// A Queue is a [*shardq.Queue], or the Queue of a coalescer.
type Queue[T comparable] interface {
	shardq.Inspector
	Lookup(item T) (stats.Item[T], bool)
}

// RequireQueued fails the test unless item is ready.
func RequireQueued[T comparable](t TB, queue Queue[T], item T) stats.Item[T] {
	t.Helper()
	return requireState(t, queue, item, stats.Ready)
}

// RequireDelayed fails the test unless item is delayed, perhaps beside another
// state, and its delay expires after the remaining time, or less than a tick
// later.
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

// RequireProcessing fails the test unless item is in processing.
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

// RequireIdle fails the test if the queue holds an item.
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

func stateOf[T comparable](found stats.Item[T], held bool) string {
	if !held {
		return "not in the queue"
	} else if found.Dirty {
		return named(found.State) + ", and will run once more"
	}
	return named(found.State)
}

func named(state stats.State) string {
	if state == stats.Processing {
		return "in processing"
	}
	return state.String()
}

const longestList = 10 // of each state in a message

func contents(queue shardq.Inspector) string {
	found := queue.Inspect().Snapshot(longestList)
	var text strings.Builder
	text.WriteString("The queue")
	if name := queue.Name(); name != "" {
		fmt.Fprintf(&text, " %q", name)
	}
	fmt.Fprintf(&text, " holds %d items.", found.Stats.Held)
	for _, line := range obstacles(queue, found) {
		text.WriteString("\n  " + line)
	}
	list := func(state string, count int, items []stats.Item[any]) {
		if count == 0 {
			return
		}
		fmt.Fprintf(&text, "\n  %s: %d", state, count)
		slices.SortStableFunc(items, func(a, b stats.Item[any]) int { // an order that does not change from run to run
			return cmp.Or(a.Deadline.Compare(b.Deadline), cmp.Compare(b.Priority, a.Priority))
		})
		for _, item := range items {
			text.WriteString("\n    " + written(item.Item) + details(item, found.Time))
		}
		if count > len(items) {
			fmt.Fprintf(&text, "\n    and %d more", count-len(items))
		}
	}
	s := found.Stats
	list("ready", s.Ready, found.Ready)
	list("in processing", s.Processing, found.Processing)
	list("delayed", s.Held-s.Ready-s.Processing, found.Delayed)
	return text.String()
}

func obstacles(queue shardq.Inspector, found shardq.Snapshot[any]) (all []string) {
	switch {
	case found.Stats.Paused:
		all = append(all, "the queue is paused")
	case found.Stats.Closed:
		all = append(all, "the queue is throttled by its rate")
	}
	if found.Stats.Throttled == 0 {
		return all
	}
	for g := range queue.Groups() {
		if !g.Throttled {
			continue
		}
		if len(all) == longestList {
			return append(all, "and more groups")
		}
		line := fmt.Sprintf("group %q is throttled by its %v", g.Group, g.Reason)
		if g.Reason == stats.ThrottledByPause && !g.PausedUntil.IsZero() {
			line += fmt.Sprintf(", which ends in %v", g.PausedUntil.Sub(found.Time))
		}
		all = append(all, line)
	}
	return all
}

func details(item stats.Item[any], now time.Time) string {
	var parts []string
	add := func(is bool, format string, arguments ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, arguments...))
		}
	}
	add(item.Dirty, "will run once more")
	add(!item.Deadline.IsZero(), "delay expires in %v", item.Deadline.Sub(now))
	add(item.Priority != 0, "priority %d", item.Priority)
	add(item.Group != "", "group %q", item.Group)
	add(item.Attempts > 0, "failed %d times", item.Attempts)
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func written(item any) string { return keytext.Of(item, 100).String() }
