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

	"github.com/shardq/shardq"
)

// itemStates are the states that an item can be asked for by.
var itemStates = map[string]shardq.ItemState{
	"processing": shardq.Processing,
	"ready":      shardq.Ready,
	"waiting":    shardq.Waiting,
}

// snapshot shows a Snapshot, a line for items of which the same is known.
func (p *player) snapshot(c *command) string {
	s := p.queue.snapshot(c.count)
	for _, rows := range [][]shardq.ItemInfo[string]{s.Processing, s.Ready, s.Waiting} {
		p.below = append(p.below, p.describe(rows)...)
	}
	if !s.Time.Equal(p.time.now()) || !reflect.DeepEqual(s.Stats, p.queue.stats()) {
		return "(of another time)"
	}
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

// all shows All items in a state, likewise.
func (p *player) all(c *command) string {
	p.below = append(p.below, p.describe(slices.Collect(p.queue.all(itemStates[c.manner])))...)
	return ""
}

// groups shows Groups, by their names.
func (p *player) groups(*command) string {
	infos := slices.SortedFunc(p.queue.groups(), func(a, b shardq.GroupInfo) int { return cmp.Compare(a.Group, b.Group) })
	for _, g := range infos {
		line := fmt.Sprintf("%s: held %d, ready %d, processing %d, weight %d", g.Group, g.Held, g.Ready, g.Processing, g.Weight)
		if g.HeldBack {
			line += ", held back"
		}
		p.below = append(p.below, line)
	}
	return ""
}

// describe writes rows, those in a row together of which the same is known.
func (p *player) describe(rows []shardq.ItemInfo[string]) (lines []string) {
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

// rowDetails stands between the items of a row and what is known of them.
const rowDetails = " ("

// known writes what is known of an item beside its state.
func (p *player) known(row shardq.ItemInfo[string]) string {
	var words []string
	if !row.Since.IsZero() {
		words = append(words, "for "+formatDuration(p.time.now().Sub(row.Since)))
	}
	if row.Dirty {
		words = append(words, "dirty")
	}
	if !row.Deadline.IsZero() {
		words = append(words, "waits "+formatDuration(row.Deadline.Sub(p.time.now())))
	}
	if row.Attempts > 0 {
		words = append(words, strconv.Itoa(row.Attempts)+verbFor(row.Attempts, " requeue", " requeues"))
	}
	return strings.Join(words, ", ")
}

// stuck is the hook that is told of stuck items.
func (p *player) stuck(row shardq.ItemInfo[string]) {
	p.userCode.use()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuckItems = append(p.stuckItems, row)
}

// stuckReports says which items were found stuck, in an order that does not depend on
// their shards.
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

// seen is what All says of a queue that is about to be taken apart.
type seen struct {
	ready, processing, dirty []string
	waiting                  []deadline
	doubt                    string
}

// observe looks at all items with All.
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

func (s *seen) take(row shardq.ItemInfo[string], now time.Time) {
	switch row.State {
	case shardq.Ready:
		s.ready = append(s.ready, row.Item)
	case shardq.Processing:
		s.processing = append(s.processing, row.Item)
	}
	if row.Dirty {
		s.dirty = append(s.dirty, row.Item)
	}
	if !row.Deadline.IsZero() {
		s.waiting = append(s.waiting, deadline{row.Item, row.Deadline.Sub(now)})
	}
}

// differs says where All told something else of a queue than was found in it. The order
// of ready items is compared shard by shard. What waits for ever was not found, and with
// a clock that was broken, an item may come later than at its deadline.
func (s seen) differs(found state, of *scenario) string {
	groups, punctual := of.groups, found.forever == 0 && !of.breaks("clock")
	byGroup := func(items []string) []string {
		return slices.SortedStableFunc(slices.Values(items), func(a, b string) int { return cmp.Compare(groups[a], groups[b]) })
	}
	text := s.doubt
	compare := func(what string, told, seen []string) {
		if !slices.Equal(told, seen) {
			text += fmt.Sprintf("All has %s %v, but there are %v, ", what, told, seen)
		}
	}
	compare("ready", byGroup(s.ready), byGroup(found.ready))
	compare("processing", sorted(s.processing), sorted(found.processing))
	compare("dirty", sorted(s.dirty), sorted(found.dirty))
	if punctual {
		compare("waiting", []string{listDeadlines(s.waiting)}, []string{listDeadlines(found.waiting)})
	} else if len(s.waiting) != len(found.waiting)+found.forever {
		text += "All has others waiting, "
	}
	return text
}

// renamed gives the names of a trace to rows of a queue.
func renamed[T comparable](k kind[T], rows iter.Seq[shardq.ItemInfo[T]]) iter.Seq[shardq.ItemInfo[string]] {
	return func(yield func(shardq.ItemInfo[string]) bool) {
		for row := range rows {
			if !yield(rename(k, row)) {
				return
			}
		}
	}
}

func renameAll[T comparable](k kind[T], rows []shardq.ItemInfo[T]) []shardq.ItemInfo[string] {
	return slices.Collect(renamed(k, slices.Values(rows)))
}

func rename[T comparable](k kind[T], row shardq.ItemInfo[T]) shardq.ItemInfo[string] {
	return shardq.ItemInfo[string]{
		Item: k.name(row.Item), State: row.State, Dirty: row.Dirty, Since: row.Since,
		Deadline: row.Deadline, Attempts: row.Attempts, Shard: row.Shard,
	}
}
