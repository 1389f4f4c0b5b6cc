package debugpage

import (
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq/stats"
)

// maxVisited limits the items that one request visits.
const maxVisited = 200_000

// A choice selects items of a queue: by key, by id, by group or by worker. Only
// one of the fields is set.
type choice struct {
	key, item, group string
	worker           int
}

func (c choice) any() bool { return c != choice{} }

// names returns the parameters that are set.
func (c choice) names() (names []string) {
	for name, set := range map[string]bool{"key": c.key != "", "item": c.item != "", "group": c.group != "", "worker": c.worker != 0} {
		if set {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// A foundReport has the items that a choice selects.
type foundReport struct {
	// Title says what was selected.
	Title string `json:"title"`
	// Items has at most as many rows as there may be.
	Items []item `json:"items"`
	// Complete is false if there were more items than one request visits.
	Complete bool `json:"complete"`
	// Group is the selected group, if it has items. OldestReadySeconds is that
	// of the group.
	Group              *group   `json:"group,omitempty"`
	OldestReadySeconds *seconds `json:"oldestReadySeconds,omitempty"`
	// Failure is the last failure of the selected item, if it is still kept.
	Failure *failedAttempt `json:"failure,omitempty"`
	choice  choice
	// infos are the items of the rows. All items that the choice selects are as
	// many as matches. If exact is set, these are the items whose key is the
	// text, and otherwise those that begin with it.
	infos   []stats.Item[any]
	matches int
	exact   bool
}

// find reads the items of a queue that a choice selects.
func (rd reader) find(n named, c choice) (q queueReport) {
	q = queueReport{ID: n.id, Name: n.shown, Instance: rd.instance(n)}
	defer q.recoverFault()
	q = rd.overview(n)
	list := n.queue.Inspect()
	items := itemReader{rd, n.name, rd.now(n), list.Configuration()}
	q.Found = items.search(list, c)
	switch {
	case c.group != "":
		rd.describeGroup(n, q.Found, items.now)
	case c.item != "":
		q.Found.Failure = rd.lastFailure(n, c.item, items.now)
	}
	return q
}

// now returns the time of the queue's clock.
func (rd reader) now(n named) time.Time { return n.queue.Inspect().Snapshot(0).Time }

var states = []stats.State{stats.Processing, stats.Ready, stats.Delayed}

// search finds the items of a queue that a choice selects. It looks up one item
// if it can, and visits the others until one request has visited enough.
func (rd itemReader) search(list stats.Inspection, c choice) *foundReport {
	f := &foundReport{Title: c.title(), Complete: true, choice: c}
	if c.item != "" {
		var info stats.Item[any]
		var found bool
		if info, found, f.Complete = byID(list, rd.shown, c.item); found {
			f.add(info, true, rd.rows)
		}
	} else {
		rd.searchAll(list, f)
	}
	f.Items = rd.list(f.infos)
	return f
}

// searchAll adds the items that the choice of a result selects, by their key,
// group or worker.
func (rd itemReader) searchAll(list stats.Inspection, f *foundReport) {
	var first stats.Item[any]
	found, others := false, true
	if f.choice.key != "" {
		first, found, others = rd.direct(list, f.choice.key)
	}
	if found {
		f.add(first, true, rd.rows)
	}
	if !others {
		return
	}
	f.Complete = visit(list, func(info stats.Item[any]) bool {
		if !found || info.Item != first.Item {
			rd.consider(f, info)
		}
		return true
	})
}

// visit calls do with the items of a queue, until it returns false. It reports
// whether there were no more items than one request visits.
func visit(list stats.Inspection, do func(stats.Item[any]) bool) (complete bool) {
	visited := 0
	for _, state := range states {
		for info := range list.All(state) {
			if visited++; visited > maxVisited {
				return false
			}
			if !do(info) {
				return true
			}
		}
	}
	return true
}

// byID returns the item with an id. It looks up an item that a page has shown,
// and searches for any other. If complete is false, the queue may hold an item
// that was not found.
func byID(list stats.Inspection, shown *shownItems, id string) (info stats.Item[any], found, complete bool) {
	if item, ok := shown.get(id); ok {
		info, found = list.Lookup(item)
		return info, found, true
	}
	complete = visit(list, func(visited stats.Item[any]) bool {
		if itemID(visited.Item) == id {
			info, found = visited, true
		}
		return !found
	})
	return info, found, complete
}

// consider adds an item to the result if the choice selects it.
func (rd itemReader) consider(f *foundReport, info stats.Item[any]) {
	c := f.choice
	switch {
	case c.group != "":
		if groupID(info.Group) != c.group {
			return
		}
		f.add(info, false, rd.rows)
	case c.worker != 0:
		if info.Worker == c.worker {
			f.add(info, false, rd.rows)
		}
	default:
		if key := rd.key(rd.queue, info.Item).text; strings.HasPrefix(key, c.key) {
			f.add(info, key == c.key, rd.rows)
		}
	}
}

// add adds the item of a row. The first exact match takes the place of all
// other items.
func (f *foundReport) add(info stats.Item[any], exact bool, limit int) {
	switch {
	case f.exact && !exact:
		return
	case exact && !f.exact:
		f.infos, f.matches, f.exact = nil, 0, true
	}
	f.matches++
	if len(f.infos) < limit {
		f.infos = append(f.infos, info)
	}
}

// isOne reports whether the result is one item, selected by its key or its id.
func (f *foundReport) isOne() bool {
	return f.Complete && f.matches == 1 && (f.choice.item != "" || f.choice.key != "")
}

func (c choice) title() string {
	switch {
	case c.item != "":
		return "Item"
	case c.group != "":
		return "Items of the group"
	case c.worker != 0:
		return "Items of worker " + formatCount(c.worker)
	}
	return "Keys that begin with " + showText(c.key).inWords()
}

func (rd reader) describeGroup(n named, f *foundReport, now time.Time) {
	for info := range n.queue.Groups() {
		if groupID(info.Group) == f.choice.group {
			row := rd.groupRow(n, info, n.queue.Stats().Ready, now)
			f.Group, f.OldestReadySeconds = &row, row.OldestReadySeconds
			return
		}
	}
}

// lastFailure returns the last failure of an item that the queue keeps. Of two
// at the same time, the discard is the last.
func (rd reader) lastFailure(n named, id string, now time.Time) *failedAttempt {
	failed, discarded := n.queue.Inspect().RecentFailures(maxMaxRows)
	var last []stats.Failure[any]
	for _, failures := range [][]stats.Failure[any]{discarded, failed} { // each has the newest first
		i := slices.IndexFunc(failures, func(f stats.Failure[any]) bool { return itemID(f.Item) == id })
		if i >= 0 && (last == nil || failures[i].Time.After(last[0].Time)) {
			last = failures[i : i+1]
		}
	}
	if last == nil {
		return nil
	}
	return &rd.failedAttempts(n, last, now)[0]
}

// byWorker returns a row for each worker: the first of its items, and how many
// it has. Items without a known worker stand alone.
func byWorker(rows []stats.Item[any], limit int) (first []stats.Item[any], sizes []int) {
	seen := map[int]int{}
	for _, row := range rows {
		if i, ok := seen[row.Worker]; ok && row.Worker != 0 {
			sizes[i]++
			continue
		}
		seen[row.Worker] = len(first)
		first, sizes = append(first, row), append(sizes, 1)
	}
	n := min(limit, len(first))
	return first[:n], sizes[:n]
}

// inBatches reports whether a worker has several of the items.
func inBatches(rows []stats.Item[any]) bool {
	_, sizes := byWorker(rows, len(rows))
	return len(sizes) < len(rows)
}

// processing returns the rows of the items in flight, one for each worker. If
// the first rows are those of batches, it asks for more of them.
func (rd itemReader) processing(n named, rows []stats.Item[any]) []item {
	if len(rows) >= rd.rows && inBatches(rows) {
		rows = n.queue.Inspect().Snapshot(batchRows).Processing
	}
	first, sizes := byWorker(rows, rd.rows)
	items := rd.list(first)
	for i, size := range sizes {
		if size > 1 {
			items[i].Batch = size
		}
	}
	return items
}

// batchRows is the number of items in flight that are read to find the workers
// of batches.
const batchRows = 1000
