package debugpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/topk"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// schemaVersion changes with the name or the meaning of a field, not for a new
// one.
const schemaVersion = 2

// A report has what the page shows. docs/reference/debugpage.md describes its
// JSON.
type report struct {
	Version          int           `json:"version"`
	Title            string        `json:"title"`
	Time             time.Time     `json:"time"`
	TookSeconds      seconds       `json:"tookSeconds"`
	NotShown         int           `json:"notShown"`
	ProblemsNotShown int           `json:"problemsNotShown"`
	Queues           []queueReport `json:"queues"`
	one              *named        // nil in an overview
}

// An entry is an object of the JSON. What is not known is nil.
type entry = map[string]any

type queueReport struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	Instance string        `json:"instance"`
	Fault    string        `json:"fault,omitempty"`
	State    string        `json:"state"`
	Verdict  verdict       `json:"verdict"`
	Gauges   entry         `json:"gauges"`
	Counters entry         `json:"counters"`
	Values   entry         `json:"values"` // nil unless the queue is that of a Coalescer
	Detail   *detailReport `json:"detail,omitempty"`
	Found    *foundReport  `json:"found,omitempty"` // in place of Detail
	asked    int           // the rows that the request and its links ask for, or 0
}

type detailReport struct {
	Durations       *durations `json:"durations"` // nil without metrics
	Processing      []entry    `json:"processing"`
	Ready           []entry    `json:"ready"`
	Delayed         []entry    `json:"delayed"`
	TimeLeft        histogram  `json:"timeLeft"`
	Retried         []entry    `json:"retried"`
	Groups          []entry    `json:"groups"`
	Sources         []entry    `json:"sources,omitempty"` // of a Coalescer
	Attempts        []entry    `json:"attempts"`
	AttemptsByGroup []entry    `json:"attemptsByGroup"`
	Failures        []entry    `json:"failures"`
	Discards        []entry    `json:"discards"`
	Shards          entry      `json:"shards"` // columns, because rows are several times as long
	Configuration   entry      `json:"configuration"`
	options         stats.Configuration
}

type seconds float64

func inSeconds(d time.Duration) seconds { return seconds(d.Seconds()) }

func (s seconds) duration() time.Duration {
	const longest = math.MaxInt64 - 1023 // the next greater float64 would overflow
	return time.Duration(max(math.MinInt64, min(math.Round(float64(s)*float64(time.Second)), longest)))
}

func known[V any](value V, is bool) any {
	if !is {
		return nil
	}
	return value
}

func until(from, to time.Time) any {
	return known(inSeconds(max(to.Sub(from), 0)), !from.IsZero() && !to.IsZero())
}

func ratio(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

type reader struct {
	*handler
	named
	rows    int // of each table at most
	options stats.Configuration
	now     time.Time // of the queue's clock
}

func (h *handler) reader(n named, rows int) *reader { return &reader{handler: h, named: n, rows: rows} }

func (rd *reader) guarded(read func() queueReport) (q queueReport) {
	defer func() {
		if recover() != nil {
			q = rd.report(&reading{fault: "reading this queue panicked"}, false)
		}
	}()
	rd.options = rd.queue.Inspect().Configuration()
	return read()
}

func (rd *reader) report(r *reading, isStuck bool) queueReport {
	if isStuck {
		r.stuck, r.stuckAtLeast = rd.countStuck()
	}
	if r.fault == "" {
		r.waits = rd.waits(&r.stats)
		now := newSample(&r.stats, rd.options.Ages)
		now.pausedReady = r.waits.paused
		r.course = rd.samples.since(rd.unique(), now, rd.window())
		r.long = rd.samples.since(rd.unique()+" long", now, 5*rd.window())
	}
	return queueReport{ // the instance distinguishes it from all others, also earlier ones
		ID: rd.id, Name: rd.title, Instance: fmt.Sprintf("%s-%d", rd.names.handler, rd.number),
		Fault: r.fault, State: r.state(), Verdict: r.verdict(),
		Gauges: r.gauges(), Counters: r.counters(), Values: r.values(),
	}
}

// waits visits the groups only if some may wait. While consumers are parked, a
// group with a limit waits also in the moment between a Done and the next Get.
func (rd *reader) waits(s *shardq.Stats) (w waits) {
	var most stats.Group
	if parked := s.Parked > 0 && s.Ready > 0 && rd.options.Groups; parked || s.Throttled > 0 {
		for g := range rd.queue.Groups() {
			is := g.Throttled || parked && g.Ready >= 10 && (g.Limit > 0 || g.Rate.PerSecond > 0)
			if is && g.Ready > most.Ready {
				most = g
			}
			if g.Paused {
				w.paused += g.Ready
			}
		}
		w.most, w.text = most.Ready, rd.group(most.Group).inWords()+" is "+why(most, rd.clock())+": "+formatWaiting(most.Ready)
	}
	return w
}

// why says why a group waits.
func why(g stats.Group, now time.Time) string {
	switch left := g.PausedUntil.Sub(now); {
	case g.Paused:
		return "paused" + orNone(left > 0, " for "+formatBriefDuration(left), "")
	case g.Reason == stats.ThrottledByRate || g.Limit == 0:
		return "at its rate of " + formatDecimal(g.Rate.PerSecond) + "/s"
	}
	return "at its limit of " + formatCount(g.Limit)
}

func formatWaiting(n int) string { return formatCount(n) + orNone(n == 1, " waits", " wait") }

func (rd *reader) overview() queueReport {
	return rd.guarded(func() queueReport {
		r := &reading{stats: rd.queue.Stats(), options: rd.options}
		isStuck := rd.options.StuckAfter > 0 && slices.ContainsFunc(r.stats.PerShard, func(s stats.Shard) bool {
			return s.OldestProcessing >= rd.options.StuckAfter
		})
		if isStuck {
			rd.now = rd.clock()
		}
		return rd.report(r, isStuck)
	})
}

func (rd *reader) clock() time.Time { return rd.queue.Inspect().Snapshot(0).Time }

func (rd *reader) whole() queueReport {
	return rd.guarded(func() queueReport {
		snapshot := rd.queue.Inspect().Snapshot(rd.rows)
		s := snapshot.Stats
		rd.now = snapshot.Time
		failed, discarded := rd.queue.Inspect().RecentFailures(rd.rows)
		retried := func(f limiter.Failed[any]) entry { return rd.keyed(f.Item, entry{"failures": f.Failures}) }
		detail := &detailReport{
			Durations:       newDurations(s.Metrics),
			Processing:      rd.processing(snapshot.Processing),
			Ready:           each(snapshot.Ready, rd.item),
			Delayed:         each(snapshot.Delayed, rd.item),
			TimeLeft:        newHistogram(rd.queue.Inspect().TimeLeft(), rd.options.Tick),
			Retried:         each(rd.queue.Inspect().MostRetried(rd.rows), retried),
			Groups:          rd.groups(s.Ready),
			Sources:         rd.sources(s.Values),
			Attempts:        attemptsByResult(s.Metrics),
			AttemptsByGroup: each(rd.queue.Inspect().GroupAttempts(rd.rows), rd.attemptsOf),
			Failures:        each(failed, rd.failedAttempt),
			Discards:        each(discarded, rd.failedAttempt),
			Shards:          newShards(s.PerShard, rd.options.Ages),
			Configuration:   configuration(rd.options),
			options:         rd.options,
		}
		r := &reading{stats: s, options: rd.options, now: rd.now}
		q := rd.report(r, slices.ContainsFunc(detail.Processing, func(e entry) bool { return e["stuck"] == true }))
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

func addText(to entry, name string, text shownKey) {
	if to[name] = text.Text; text.KeyLength > 0 {
		to[name+"Length"] = text.KeyLength
	}
}

func (rd *reader) keyed(item any, e entry) entry {
	addText(e, "key", rd.key(item))
	id := itemID(item)
	rd.shown.add(id, item)
	e["id"] = id
	return e
}

func (rd *reader) item(info stats.Item[any]) entry {
	e := rd.keyed(info.Item, entry{
		"ageSeconds": until(info.Since, rd.now), "dueSeconds": until(rd.now, info.Deadline),
		"attempts": info.Attempts, "attempt": info.Attempts + 1, "worker": info.Worker,
		"state": orNone(info.State == stats.Processing, "in flight", info.State.String()),
		"dirty": info.Dirty, "group": "", "priority": info.Priority, "shard": info.Shard, "stuck": rd.isStuck(info),
	})
	if rd.options.Groups {
		addText(e, "group", rd.group(info.Group))
	}
	return e
}

func (rd *reader) isStuck(info stats.Item[any]) bool {
	after := rd.options.StuckAfter
	return info.State == stats.Processing && after > 0 && !info.Since.IsZero() && rd.now.Sub(info.Since) >= after
}

const (
	maxStuck  = 1000 // items that are counted
	batchRows = 1000 // items in flight that are read to find the workers of batches
)

// countStuck counts the stuck items, at least. It visits all items in flight.
func (rd *reader) countStuck() (count int, atLeast bool) {
	visited := 0
	for info := range rd.queue.Inspect().All(stats.Processing) {
		if rd.isStuck(info) {
			count++
		}
		if visited++; visited > maxVisited || count == maxStuck {
			return count, true
		}
	}
	return count, false
}

// processing returns a row for each worker. It reads on if the first have
// batches.
func (rd *reader) processing(infos []stats.Item[any]) []entry {
	first, sizes := byWorker(infos)
	if len(infos) >= rd.rows && len(first) < len(infos) {
		first, sizes = byWorker(rd.queue.Inspect().Snapshot(batchRows).Processing)
	}
	rows := each(first[:min(rd.rows, len(first))], rd.item)
	for i, e := range rows {
		if sizes[i] > 1 {
			e["batch"] = sizes[i]
		}
	}
	return rows
}

// byWorker returns the first item and the number of items of each worker. An
// item of an unknown worker stands alone.
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

func (rd *reader) sources(values *stats.Values) []entry {
	if values == nil {
		return nil
	}
	top := topk.New(rd.rows, func(a, b stats.Source) int {
		return cmp.Or(cmp.Compare(b.Events, a.Events), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range values.Sources {
		top.Add(s)
	}
	return each(top.Values(), func(s stats.Source) entry {
		e := entry{"read": s.Read, "safe": s.Safe, "events": s.Events, "oldestSeconds": inSeconds(s.Oldest)}
		addText(e, "source", rd.group(s.Name))
		return e
	})
}

func (rd *reader) groupOf(info stats.Group, ready int) entry {
	e := entry{
		"ready":              info.Ready,
		"share":              min(ratio(uint64(info.Ready), uint64(ready)), 1), // of two readings
		"oldestReadySeconds": until(info.Oldest, rd.now), "processing": info.Processing, "held": info.Held, "weight": info.Weight,
		"throttled": info.Throttled, "pauseLeftSeconds": until(rd.now, info.PausedUntil),
		"throttledBy": orNone(info.Paused, stats.ThrottledByPause.String(), info.Reason.String()), // also if nothing is ready
		"limit":       info.Limit, "ratePerSecond": nil, "shard": info.Shard, "id": groupID(info.Group),
	}
	addText(e, "group", rd.group(info.Group))
	if info.Rate.PerSecond > 0 {
		e["ratePerSecond"], e["burst"] = info.Rate.PerSecond, max(info.Rate.Burst, 1)
	}
	return e
}

func attemptsByResult(m *stats.Metrics) []entry {
	rows, total := []entry{}, uint64(0)
	if m == nil {
		return rows
	}
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

func (rd *reader) attemptsOf(g stats.GroupAttempts) entry {
	e := entry{"total": g.Total()}
	addText(e, "group", rd.group(g.Group))
	for result, n := range g.Counts {
		e[stats.Result(result).String()] = n
	}
	return e
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
	return entry{
		"ready":                   each(shards, func(s stats.Shard) uint64 { return uint64(s.Ready) }),
		"processing":              each(shards, func(s stats.Shard) uint64 { return uint64(s.Processing) }),
		"delayed":                 each(shards, func(s stats.Shard) uint64 { return uint64(s.Delayed) }),
		"held":                    each(shards, func(s stats.Shard) uint64 { return uint64(s.Held) }),
		"added":                   each(shards, func(s stats.Shard) uint64 { return s.Added }),
		"oldestReadySeconds":      known(each(shards, func(s stats.Shard) seconds { return inSeconds(s.OldestReady) }), ages),
		"oldestProcessingSeconds": known(each(shards, func(s stats.Shard) seconds { return inSeconds(s.OldestProcessing) }), ages),
	}
}
