package traces

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/shardq/shardq/stats"
)

// itemStates are the states by their names in a trace.
var itemStates = map[string]stats.State{
	"processing": stats.Processing, "ready": stats.Ready, "delayed": stats.Delayed,
}

// snapshot shows a Snapshot. Items with the same details share a line.
func (p *player) snapshot(c *command) string {
	s := p.queue.Snapshot(c.count)
	for _, rows := range [][]stats.Item[string]{s.Processing, s.Ready, s.Delayed} {
		p.below = append(p.below, p.describe(rows)...)
	}
	if !s.Time.Equal(p.time.now()) || !reflect.DeepEqual(s.Stats, p.queue.Stats()) {
		return "(of another time)"
	}
	return ""
}

// lookup shows what Lookup returns of an item.
func (p *player) lookup(c *command) string {
	row, held := p.queue.Lookup(itemOf(c.items[0]))
	if !held {
		return "is not held"
	}
	p.below = append(p.below, p.describe([]stats.Item[string]{row})...)
	return ""
}

// metrics shows the seven series of Metrics.
func (p *player) metrics(*command) string {
	stats := p.queue.Stats()
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
	p.below = append(p.below, p.describe(slices.Collect(p.queue.All(itemStates[c.manner])))...)
	return ""
}

// groups shows Groups, in the order of their names.
func (p *player) groups(*command) string {
	infos := slices.SortedFunc(p.queue.Groups(), func(a, b stats.Group) int { return cmp.Compare(a.Group, b.Group) })
	for _, g := range infos {
		line := fmt.Sprintf("%s: held %d, ready %d, processing %d, weight %d", g.Group, g.Held, g.Ready, g.Processing, g.Weight)
		if g.Throttled {
			line += ", throttled by its " + g.Reason.String()
		}
		if !g.PausedUntil.IsZero() {
			line += ", paused for " + p.until(g.PausedUntil)
		}
		p.below = append(p.below, line)
	}
	return ""
}

// describe writes rows. Successive rows with the same details share a line.
func (p *player) describe(rows []stats.Item[string]) (lines []string) {
	var names []string
	for i, row := range rows {
		names = append(names, nameOf(row.Item))
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
		words = append(words, strings.Replace("expires in "+p.until(row.Deadline), "in forever", "never", 1))
	}
	if row.Attempts > 0 {
		words = append(words, strconv.Itoa(row.Attempts)+verbFor(row.Attempts, " requeue", " requeues"))
	}
	return strings.Join(words, ", ")
}

// stuckReports returns the reports of stuck items, in an order that does not
// depend on their shards.
func (p *player) stuckReports() (reports []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	byReport := map[string][]string{}
	for _, row := range p.stuckItems {
		byReport[p.known(row)] = append(byReport[p.known(row)], nameOf(row.Item))
	}
	p.stuckItems = nil
	for _, known := range slices.Sorted(maps.Keys(byReport)) {
		reports = append(reports, "stuck: "+list(sorted(byReport[known]))+rowDetails+known+")")
	}
	return reports
}
