package debugpage

import (
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

const (
	running      = "running"
	shuttingDown = "shutting down"
	drained      = "drained"
)

// A reader reads queues for a report.
type reader struct {
	options Options
	// rows limits the rows of each table.
	rows int
	// instance distinguishes a queue from all others.
	instance func(named) string
	// shown remembers the items of these ids.
	shown *shownItems
}

// idOf returns the id of the row of an item, and remembers the item.
func (rd reader) idOf(item any) string {
	id := itemID(item)
	rd.shown.add(id, item)
	return id
}

// overview reads the numbers of a queue.
func (rd reader) overview(n named) (q queueReport) {
	q = queueReport{ID: n.id, Name: n.shown, Instance: rd.instance(n)}
	defer q.recoverFault()
	configuration := n.queue.Inspect().Configuration()
	s := n.queue.Stats()
	q.readStats(s, configuration.Ages, time.Time{})
	if hasStuck(s.PerShard, configuration.StuckAfter) {
		q.Gauges.Stuck, q.Gauges.StuckAtLeast = countStuck(n, configuration.StuckAfter, rd.now(n))
	}
	q.judged()
	return q
}

// whole reads everything that the page shows of a queue.
func (rd reader) whole(n named) (q queueReport) {
	q = queueReport{ID: n.id, Name: n.shown, Instance: rd.instance(n)}
	defer q.recoverFault()
	configuration := n.queue.Inspect().Configuration()
	snapshot := n.queue.Inspect().Snapshot(rd.rows)
	q.readStats(snapshot.Stats, configuration.Ages, snapshot.Time)
	items := itemReader{rd, n.name, snapshot.Time, configuration}
	q.Detail = &detailReport{
		Durations:     newDurations(snapshot.Stats.Metrics),
		Processing:    items.processing(n, snapshot.Processing),
		Ready:         items.list(snapshot.Ready),
		Delayed:       items.list(snapshot.Delayed),
		TimeLeft:      newHistogram(n.queue.Inspect().TimeLeft(), configuration.Tick),
		Retried:       rd.retried(n),
		Groups:        rd.groups(n, snapshot.Stats.Ready, snapshot.Time, configuration.Groups),
		Shards:        newShardsReport(snapshot.Stats.PerShard, configuration.Ages),
		outcomes:      rd.outcomes(n, snapshot.Stats, snapshot.Time),
		Configuration: newConfiguration(configuration),
	}
	if slices.ContainsFunc(q.Detail.Processing, func(i item) bool { return i.Stuck }) {
		q.Gauges.Stuck, q.Gauges.StuckAtLeast = countStuck(n, configuration.StuckAfter, snapshot.Time)
	}
	q.judged()
	return q
}

// recoverFault records a panic while a queue is read. The queue's limiter may
// panic, or an Inspector that the program implements itself.
func (q *queueReport) recoverFault() {
	if recover() != nil {
		*q = queueReport{ID: q.ID, Name: q.Name, Instance: q.Instance, State: "unknown", Fault: "reading this queue panicked"}
		q.judged()
	}
}

func (q *queueReport) readStats(s shardq.Stats, ages bool, now time.Time) {
	q.State = stateOf(s)
	q.Gauges = newGauges(s, ages, now)
	q.Counters = newCounters(s)
	q.Values = newValues(s.Values)
}

func stateOf(s shardq.Stats) string {
	switch {
	case !s.ShuttingDown:
		return running
	case s.Held > 0:
		return shuttingDown
	}
	return drained
}

// newGauges returns the gauges at a time of the queue's clock. The time is zero
// if it is not known.
func newGauges(s shardq.Stats, ages bool, now time.Time) gauges {
	oldestReady, oldestProcessing := time.Duration(0), time.Duration(0)
	for i := range s.PerShard {
		oldestReady = max(oldestReady, s.PerShard[i].OldestReady)
		oldestProcessing = max(oldestProcessing, s.PerShard[i].OldestProcessing)
	}
	g := gauges{
		Ready: s.Ready, Processing: s.Processing, Delayed: s.Delayed, Held: s.Held, Capacity: s.Capacity,
		Groups: s.Groups, Throttled: s.Throttled, Parked: s.Parked, Workers: s.Workers, Paused: s.Paused,
		OutageFailures:          s.OutageFailures,
		OldestReadySeconds:      optional(oldestReady, ages),
		OldestProcessingSeconds: optional(oldestProcessing, ages),
		NextDueSeconds:          optional(max(s.NextDue.Sub(now), 0), !s.NextDue.IsZero() && !now.IsZero()),
		Skew:                    s.Skew(),
	}
	if s.Rate.PerSecond > 0 {
		g.RatePerSecond = new(s.Rate.PerSecond)
	}
	if s.Limited >= 0 {
		g.Limited = new(s.Limited)
	}
	if m := s.Metrics; m != nil { // copies, which do not keep the histograms in memory
		g.Dirty, g.Depth = new(m.Dirty), new(m.Depth)
		g.UnfinishedSeconds = optional(m.Unfinished, true)
	}
	return g
}

func newCounters(s shardq.Stats) counters {
	c := counters{
		Added: s.Added, Deduplicated: s.Deduplicated, Expired: s.Expired, Dropped: s.Dropped, Canceled: s.Canceled,
		OverCapacity: s.OverCapacity, Rejected: s.Rejected, Misused: s.Misused, Discarded: s.Discarded, Outages: s.Outages,
	}
	if m := s.Metrics; m != nil {
		c.Retries, c.Backoffs = new(m.Retries), new(m.Backoffs)
		c.HandedOut, c.Done = new(m.QueueDuration.Count), new(m.WorkDuration.Count)
	}
	return c
}

func newValues(v *stats.Values) *values {
	if v == nil {
		return nil
	}
	return &values{v.Keys, v.Lingering, v.Weight, v.Capacity, v.Put, v.Merged, v.OverCapacity, ratio(v.Merged, v.Put)}
}

func newShardsReport(shards []stats.Shard, ages bool) shardsReport {
	r := shardsReport{
		Ready: make([]int, len(shards)), Processing: make([]int, len(shards)), Delayed: make([]int, len(shards)),
		Held: make([]int, len(shards)), Added: make([]uint64, len(shards)),
	}
	if ages {
		r.OldestReadySeconds = make([]seconds, len(shards))
		r.OldestProcessingSeconds = make([]seconds, len(shards))
	}
	for i, s := range shards {
		r.Ready[i], r.Processing[i], r.Delayed[i], r.Held[i], r.Added[i] = s.Ready, s.Processing, s.Delayed, s.Held, s.Added
		if ages {
			r.OldestReadySeconds[i], r.OldestProcessingSeconds[i] = inSeconds(s.OldestReady), inSeconds(s.OldestProcessing)
		}
	}
	return r
}

// An itemReader reads the items of a queue at a time.
type itemReader struct {
	reader
	queue         string
	now           time.Time
	configuration stats.Configuration
}

func (rd itemReader) list(infos []stats.Item[any]) []item {
	items := make([]item, len(infos))
	for i, info := range infos {
		items[i] = rd.item(info)
	}
	return items
}

func (rd itemReader) item(info stats.Item[any]) item {
	key := rd.key(rd.queue, info.Item)
	age := max(rd.now.Sub(info.Since), 0)
	i := item{
		ID: rd.idOf(info.Item), Key: key.text, KeyLength: key.length,
		AgeSeconds: optional(age, !info.Since.IsZero()),
		DueSeconds: optional(max(info.Deadline.Sub(rd.now), 0), !info.Deadline.IsZero()),
		Attempts:   info.Attempts, Attempt: info.Attempts + 1, State: inWords(info.State), Worker: info.Worker, Dirty: info.Dirty, Priority: info.Priority, Shard: info.Shard,
		Stuck: isStuck(info, rd.configuration.StuckAfter, rd.now),
	}
	if rd.configuration.Groups {
		group := rd.group(rd.queue, info.Group)
		i.Group, i.GroupLength = group.text, group.length
	}
	return i
}

// inWords returns the name of a state on the page.
func inWords(s stats.State) string {
	if s == stats.Processing {
		return "in flight"
	}
	return s.String()
}

// key returns the text to show for an item.
func (rd reader) key(queue string, item any) shownKey {
	if rd.options.RedactKey == nil {
		return showItem(item)
	}
	return redact(func() string { return rd.options.RedactKey(queue, item) })
}

// group returns the text to show for the name of a group.
func (rd reader) group(queue, group string) shownKey {
	if rd.options.RedactGroup == nil {
		return showText(group)
	}
	return redact(func() string { return rd.options.RedactGroup(queue, group) })
}

func (rd reader) retried(n named) []failure {
	rows := n.queue.Inspect().MostRetried(rd.rows)
	failures := make([]failure, len(rows))
	for i, row := range rows {
		key := rd.key(n.name, row.Item)
		failures[i] = failure{ID: rd.idOf(row.Item), Key: key.text, KeyLength: key.length, Failures: row.Failures}
	}
	return failures
}
