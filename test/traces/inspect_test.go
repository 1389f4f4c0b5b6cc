package traces

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq/stats"
)

// itemStates are the states by their names in a trace.
var itemStates = map[string]stats.State{
	"processing": stats.Processing,
	"ready":      stats.Ready,
	"delayed":    stats.Delayed,
}

// snapshot shows a Snapshot. Items with the same details share a line.
func (p *player) snapshot(c *command) string {
	s := p.queue.snapshot(c.count)
	for _, rows := range [][]stats.Item[string]{s.Processing, s.Ready, s.Delayed} {
		p.below = append(p.below, p.describe(rows)...)
	}
	if !s.Time.Equal(p.time.now()) || !reflect.DeepEqual(s.Stats, p.queue.stats()) {
		return "(of another time)"
	}
	return ""
}

// lookup shows what Lookup returns of an item.
func (p *player) lookup(c *command) string {
	row, held := p.queue.lookup(c.items[0])
	if !held {
		return "is not held"
	}
	p.below = append(p.below, p.describe([]stats.Item[string]{row})...)
	return ""
}

// metrics shows the seven series of Metrics.
func (p *player) metrics(*command) string {
	stats := p.queue.stats()
	m := stats.Metrics
	if m == nil {
		return "none"
	}
	p.below = append(p.below,
		fmt.Sprintf("depth %d, adds %d, retries %d", m.Depth, stats.Added, m.Retries),
		fmt.Sprintf("queued: %d, together %s", m.QueueDuration.Count, formatDuration(m.QueueDuration.Sum)),
		fmt.Sprintf("worked: %d, together %s", m.WorkDuration.Count, formatDuration(m.WorkDuration.Sum)),
		fmt.Sprintf("unfinished for %s, the longest %s", formatDuration(m.Unfinished), formatDuration(m.LongestRunning)))
	return ""
}

// all shows All items in a state, in the same form.
func (p *player) all(c *command) string {
	p.below = append(p.below, p.describe(slices.Collect(p.queue.all(itemStates[c.manner])))...)
	return ""
}

// groups shows Groups, in the order of their names.
func (p *player) groups(*command) string {
	infos := slices.SortedFunc(p.queue.groups(), func(a, b stats.Group) int { return cmp.Compare(a.Group, b.Group) })
	for _, g := range infos {
		line := fmt.Sprintf("%s: held %d, ready %d, processing %d, weight %d", g.Group, g.Held, g.Ready, g.Processing, g.Weight)
		if g.Throttled {
			line += ", throttled"
		}
		p.below = append(p.below, line)
	}
	return ""
}

// describe writes rows. Successive rows with the same details share a line.
func (p *player) describe(rows []stats.Item[string]) (lines []string) {
	var names []string
	for i, row := range rows {
		names = append(names, row.Item)
		known := p.known(row)
		if i+1 < len(rows) && p.known(rows[i+1]) == known {
			continue
		}
		line := row.State.String() + ": " + list(names)
		if known != "" {
			line += rowDetails + known + ")"
		}
		lines, names = append(lines, line), nil
	}
	return lines
}

// rowDetails separates the items of a row from their details.
const rowDetails = " ("

// known writes the details of an item beside its state.
func (p *player) known(row stats.Item[string]) string {
	var words []string
	if !row.Since.IsZero() {
		words = append(words, "for "+formatDuration(p.time.now().Sub(row.Since)))
	}
	if row.Dirty {
		words = append(words, "dirty")
	}
	if !row.Deadline.IsZero() {
		words = append(words, "expires in "+formatDuration(row.Deadline.Sub(p.time.now())))
	}
	if row.Attempts > 0 {
		words = append(words, strconv.Itoa(row.Attempts)+verbFor(row.Attempts, " requeue", " requeues"))
	}
	return strings.Join(words, ", ")
}

// stuck is the hook OnStuck.
func (p *player) stuck(row stats.Item[string]) {
	p.userCode.use()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuckItems = append(p.stuckItems, row)
}

// stuckReports returns the reports of stuck items, in an order that does not
// depend on their shards.
func (p *player) stuckReports() (reports []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	byReport := map[string][]string{}
	for _, row := range p.stuckItems {
		byReport[p.known(row)] = append(byReport[p.known(row)], row.Item)
	}
	p.stuckItems = nil
	for _, known := range slices.Sorted(maps.Keys(byReport)) {
		reports = append(reports, "stuck: "+list(sorted(byReport[known]))+rowDetails+known+")")
	}
	return reports
}

// seen is the result of All before the replayer takes the queue apart.
type seen struct {
	ready, processing, dirty []string
	delayed                  []deadline
	doubt                    string
}

// observe lists all items with All.
func (p *player) observe() (s seen) {
	shards := map[int]int{}
	for _, state := range itemStates {
		for row := range p.queue.all(state) {
			s.take(row, p.time.now())
			group := p.scenario.groups[row.Item]
			if of, known := shards[group]; known && of != row.Shard || row.Shard >= p.queue.stats().Shards {
				s.doubt = fmt.Sprintf("All has shard %d for %s, ", row.Shard, row.Item)
			}
			shards[group] = row.Shard
		}
	}
	return s
}

func (s *seen) take(row stats.Item[string], now time.Time) {
	switch row.State {
	case stats.Ready:
		s.ready = append(s.ready, row.Item)
	case stats.Processing:
		s.processing = append(s.processing, row.Item)
	}
	if row.Dirty {
		s.dirty = append(s.dirty, row.Item)
	}
	if !row.Deadline.IsZero() {
		s.delayed = append(s.delayed, deadline{row.Item, row.Deadline.Sub(now)})
	}
}

// differs describes where All differs from the items that were found. It
// compares the order of ready items shard by shard. Items that are delayed
// forever are not found, and after a broken clock an item may become ready
// later than at its deadline.
func (s seen) differs(found state, of *scenario) string {
	groups, punctual := of.groups, found.forever == 0 && !of.breaks("clock")
	byGroup := func(items []string) []string {
		return slices.SortedStableFunc(slices.Values(items), func(a, b string) int { return cmp.Compare(groups[a], groups[b]) })
	}
	text := s.doubt
	compare := func(what string, listed, found []string) {
		if !slices.Equal(listed, found) {
			text += fmt.Sprintf("All has %s %v, but there are %v, ", what, listed, found)
		}
	}
	compare("ready", byGroup(s.ready), byGroup(found.ready))
	compare("processing", sorted(s.processing), sorted(found.processing))
	compare("dirty", sorted(s.dirty), sorted(found.dirty))
	if punctual {
		compare("delayed", []string{listDeadlines(s.delayed)}, []string{listDeadlines(found.delayed)})
	} else if len(s.delayed) != len(found.delayed)+found.forever {
		text += "All has others delayed, "
	}
	return text
}

// renamed returns rows of a queue with the names of a trace.
func renamed[T comparable](k kind[T], rows iter.Seq[stats.Item[T]]) iter.Seq[stats.Item[string]] {
	return func(yield func(stats.Item[string]) bool) {
		for row := range rows {
			if !yield(rename(k, row)) {
				return
			}
		}
	}
}

func renameAll[T comparable](k kind[T], rows []stats.Item[T]) []stats.Item[string] {
	return slices.Collect(renamed(k, slices.Values(rows)))
}

func rename[T comparable](k kind[T], row stats.Item[T]) stats.Item[string] {
	return stats.Item[string]{
		Item: k.name(row.Item), State: row.State, Dirty: row.Dirty, Since: row.Since,
		Deadline: row.Deadline, Attempts: row.Attempts, Shard: row.Shard,
	}
}
