package debugpage

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// A reader reads a queue for a report.
type reader struct {
	*handler
	named
	// rows limits the rows of each table.
	rows int
	// linked reports whether rows have ids.
	linked bool
	// options are those of the queue, and now is a time of its clock.
	options shardq.Configuration
	now     time.Time
}

func (h *handler) reader(n named, rows int) *reader {
	return &reader{handler: h, named: n, rows: rows, linked: can[lister](n)}
}

// guarded returns what read returns, or says that it panicked. The queue's
// limiter may panic, or an Inspector that the program implements itself.
func (rd *reader) guarded(read func() queueReport) (q queueReport) {
	defer func() {
		if recover() != nil {
			q = rd.report(&reading{fault: "reading this queue panicked"})
		}
	}()
	rd.options = rd.queue.Configuration()
	return read()
}

// report returns what an overview has of a queue.
func (rd *reader) report(r *reading) queueReport {
	return queueReport{
		ID: rd.id, Name: rd.title, Instance: rd.instance(), Fault: r.fault, State: r.state(), Verdict: r.verdict(),
		Gauges: r.gauges(), Counters: r.counters(), Values: r.values(),
	}
}

// overview reads the numbers of a queue.
func (rd *reader) overview() queueReport {
	return rd.guarded(func() queueReport {
		r := &reading{stats: rd.queue.Stats(), options: rd.options}
		isStuck := func(s stats.Shard) bool { return s.OldestProcessing >= rd.options.StuckAfter }
		if rd.options.StuckAfter > 0 && slices.ContainsFunc(r.stats.PerShard, isStuck) {
			rd.now = rd.clock()
			r.stuck, r.stuckAtLeast = rd.countStuck()
		}
		return rd.report(r)
	})
}

// clock returns the time of the queue's clock.
func (rd *reader) clock() time.Time { return rd.queue.Inspect(0).Time }

// whole reads everything that the page shows of a queue.
func (rd *reader) whole() queueReport {
	return rd.guarded(func() queueReport {
		snapshot := rd.queue.Inspect(rd.rows)
		rd.now = snapshot.Time
		s := snapshot.Stats
		failed, discarded := rd.queue.InspectFailures(rd.rows)
		detail := &detailReport{
			Durations:       newDurations(s.Metrics),
			Processing:      rd.processing(snapshot.Processing),
			Ready:           each(snapshot.Ready, rd.item),
			Delayed:         each(snapshot.Delayed, rd.item),
			TimeLeft:        newHistogram(rd.queue.TimeLeft(), rd.options.Tick),
			Retried:         each(rd.queue.InspectRetries(rd.rows), rd.failure),
			Groups:          rd.groups(s.Ready),
			Attempts:        attemptsByResult(s.Metrics),
			AttemptsByGroup: each(rd.queue.GroupAttempts(rd.rows), rd.attemptsOf),
			Failures:        each(failed, rd.failedAttempt),
			Discards:        each(discarded, rd.failedAttempt),
			Shards:          newShards(s.PerShard, rd.options.Ages),
			Configuration:   configuration(rd.options),
			options:         rd.options,
		}
		r := &reading{stats: s, options: rd.options, now: rd.now}
		if slices.ContainsFunc(detail.Processing, func(e entry) bool { return e["stuck"] == true }) {
			r.stuck, r.stuckAtLeast = rd.countStuck()
		}
		q := rd.report(r)
		q.Detail = detail
		return q
	})
}

func each[From, To any](all []From, convert func(From) To) []To {
	rows := make([]To, len(all))
	for i, from := range all {
		rows[i] = convert(from)
	}
	return rows
}

// addText adds a text to an entry, and its length if it was cut.
func addText(to entry, name string, text shownKey) {
	if to[name] = text.Text; text.KeyLength > 0 {
		to[name+"Length"] = text.KeyLength
	}
}

// keyed adds the key of an item, and an id that selects it. It remembers the
// item.
func (rd *reader) keyed(item any, e entry) entry {
	addText(e, "key", rd.key(item))
	if rd.linked {
		id := itemID(item)
		e["id"] = id
		rd.shown.add(id, item)
	}
	return e
}

func (rd *reader) item(info stats.Item[any]) entry {
	e := rd.keyed(info.Item, entry{
		"ageSeconds": until(info.Since, rd.now), "dueSeconds": until(rd.now, info.Deadline),
		"attempts": info.Attempts, "attempt": info.Attempts + 1, "state": info.State.String(), "worker": info.Worker,
		"dirty": info.Dirty, "group": "", "priority": info.Priority, "shard": info.Shard, "stuck": rd.isStuck(info),
	})
	if info.State == stats.Processing {
		e["state"] = "in flight"
	}
	if rd.options.Groups {
		addText(e, "group", rd.group(info.Group))
	}
	return e
}

// isStuck reports whether an item has been in flight for StuckAfter. It is not
// known without ages.
func (rd *reader) isStuck(info stats.Item[any]) bool {
	after := rd.options.StuckAfter
	return info.State == stats.Processing && after > 0 && !info.Since.IsZero() && rd.now.Sub(info.Since) >= after
}

// maxStuck limits the stuck items that are counted.
const maxStuck = 1000

// countStuck counts the stuck items of a queue. If atLeast is set, there may be
// more. It visits the items in flight, so it is called only if one of them is
// stuck. Of a queue that cannot list its items, it counts those of a snapshot.
func (rd *reader) countStuck() (count int, atLeast bool) {
	var inFlight iter.Seq[stats.Item[any]]
	if list, ok := rd.queue.(lister); ok {
		inFlight = list.InspectItems(stats.Processing)
	} else {
		inFlight = slices.Values(rd.queue.Inspect(maxStuck).Processing)
	}
	visited := 0
	for info := range inFlight {
		if rd.isStuck(info) {
			count++
		}
		if visited++; visited > maxVisited || count == maxStuck {
			return count, true
		}
	}
	return count, false
}

// batchRows is the number of items in flight that are read to find the workers
// of batches.
const batchRows = 1000

// processing returns the rows of the items in flight, one for each worker. If
// the first rows are those of batches, it reads more of them.
func (rd *reader) processing(infos []stats.Item[any]) []entry {
	first, sizes := byWorker(infos)
	if len(infos) >= rd.rows && len(first) < len(infos) {
		first, sizes = byWorker(rd.queue.Inspect(batchRows).Processing)
	}
	rows := each(first[:min(rd.rows, len(first))], rd.item)
	for i, e := range rows {
		if sizes[i] > 1 {
			e["batch"] = sizes[i]
		}
	}
	return rows
}

// byWorker returns an item for each worker, the first of its items, and how
// many it has. Items without a known worker stand alone.
func byWorker(infos []stats.Item[any]) (first []stats.Item[any], sizes []int) {
	seen := map[int]int{}
	for _, info := range infos {
		if i, ok := seen[info.Worker]; ok && info.Worker != 0 {
			sizes[i]++
			continue
		}
		seen[info.Worker] = len(first)
		first, sizes = append(first, info), append(sizes, 1)
	}
	return first, sizes
}

// groups returns the groups with the most ready items, at most as many as there
// may be rows. It reads all groups, and keeps only these.
func (rd *reader) groups(ready int) []entry {
	top := topk.New(rd.rows, func(a, b stats.Group) int {
		return cmp.Or(cmp.Compare(b.Ready, a.Ready), cmp.Compare(b.Processing, a.Processing), cmp.Compare(a.Group, b.Group))
	})
	if rd.options.Groups {
		for info := range rd.queue.Groups() {
			top.Add(info)
		}
	}
	return each(top.Values(), func(info stats.Group) entry { return rd.groupOf(info, ready) })
}

// groupOf returns the row of a group, of a queue with so many ready items.
func (rd *reader) groupOf(info stats.Group, ready int) entry {
	e := entry{
		"ready":              info.Ready,
		"share":              min(ratio(uint64(info.Ready), uint64(ready)), 1), // of two readings
		"oldestReadySeconds": until(info.Oldest, rd.now), "processing": info.Processing, "held": info.Held, "weight": info.Weight,
		"throttled": info.Throttled, "throttledBy": info.Reason.String(), "pauseLeftSeconds": until(rd.now, info.PausedUntil),
		"limit": info.Limit, "ratePerSecond": nil, "shard": info.Shard,
	}
	addText(e, "group", rd.group(info.Group))
	if info.Paused { // also if nothing is ready
		e["throttledBy"] = stats.ThrottledByPause.String()
	}
	if info.Rate.PerSecond > 0 {
		e["ratePerSecond"], e["burst"] = info.Rate.PerSecond, max(info.Rate.Burst, 1)
	}
	if rd.linked {
		e["id"] = groupID(info.Group)
	}
	return e
}

func attemptsByResult(m *stats.Metrics) []entry {
	rows := []entry{}
	if m == nil {
		return rows
	}
	total := uint64(0)
	for _, h := range m.Attempts.All() {
		total += h.Count
	}
	for result, counted := range m.Attempts.All() {
		if counted.Count > 0 {
			h := newHistogram(*counted, 0)
			rows = append(rows, entry{
				"result": result.String(), "count": h.Count, "share": ratio(h.Count, total),
				"meanSeconds": h.MeanSeconds, "p50Seconds": h.P50Seconds, "p99Seconds": h.P99Seconds,
			})
		}
	}
	return rows
}

// attemptsOf returns a row with the attempts at items of a group by result.
func (rd *reader) attemptsOf(g stats.GroupAttempts) entry {
	e := entry{"total": g.Total()}
	addText(e, "group", rd.group(g.Group))
	for result, n := range g.Counts {
		e[stats.Result(result).String()] = n
	}
	return e
}

func (rd *reader) failure(f limiter.Failed[any]) entry {
	return rd.keyed(f.Item, entry{"failures": f.Failures})
}

func (rd *reader) failedAttempt(f stats.Failure[any]) entry {
	e := rd.keyed(f.Item, entry{
		"ageSeconds": inSeconds(max(rd.now.Sub(f.Time), 0)), "attempt": f.Attempt,
		"panicked": f.Panicked, "reason": f.Reason, "group": "",
	})
	addText(e, "error", rd.errorText(f.Error))
	if f.Group != "" {
		addText(e, "group", rd.group(f.Group))
	}
	return e
}

func newShards(shards []stats.Shard, ages bool) entry {
	e := entry{
		"ready":              each(shards, func(s stats.Shard) uint64 { return uint64(s.Ready) }),
		"processing":         each(shards, func(s stats.Shard) uint64 { return uint64(s.Processing) }),
		"delayed":            each(shards, func(s stats.Shard) uint64 { return uint64(s.Delayed) }),
		"held":               each(shards, func(s stats.Shard) uint64 { return uint64(s.Held) }),
		"added":              each(shards, func(s stats.Shard) uint64 { return s.Added }),
		"oldestReadySeconds": nil, "oldestProcessingSeconds": nil,
	}
	if ages {
		e["oldestReadySeconds"] = each(shards, func(s stats.Shard) seconds { return inSeconds(s.OldestReady) })
		e["oldestProcessingSeconds"] = each(shards, func(s stats.Shard) seconds { return inSeconds(s.OldestProcessing) })
	}
	return e
}
