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

// What a message shows at most: of each state, and of an item.
const (
	longestList = 10
	longestItem = 100
)

// contents writes what a queue holds, for a message: the numbers of items, and
// some of each state.
func contents(queue shardq.Inspector) string {
	found := queue.Inspect().Snapshot(longestList)
	name := "The queue"
	if queue.Name() != "" {
		name += fmt.Sprintf(" %q", queue.Name())
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s holds %d items.", name, found.Stats.Held)
	for _, line := range obstacles(queue, found) {
		text.WriteString("\n  " + line)
	}
	list := func(state string, count int, items []stats.Item[any]) {
		if count == 0 {
			return
		}
		fmt.Fprintf(&text, "\n  %s: %d", state, count)
		for _, line := range lines(items, found.Time) {
			text.WriteString("\n    " + line)
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

// obstacles says what keeps ready items from being handed out.
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

// lines writes the items of one state, in an order that does not change from
// run to run.
func lines(items []stats.Item[any], now time.Time) []string {
	slices.SortStableFunc(items, func(a, b stats.Item[any]) int {
		return cmp.Or(a.Deadline.Compare(b.Deadline), cmp.Compare(b.Priority, a.Priority))
	})
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = written(item.Item) + details(item, now)
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

// written writes an item, or the beginning of a long one.
func written(item any) string { return keytext.Of(item, longestItem).String() }
