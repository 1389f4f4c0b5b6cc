package debugpage

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

type reading struct {
	stats        shardq.Stats
	options      stats.Configuration
	now          time.Time // of its clock, or zero if that is not known
	stuck        int
	stuckAtLeast bool   // stuck is a lower bound
	fault        string // why there is nothing else
	course       course // the last samples with this one, or nil
	long         course // the same of five times as long, with fewer samples
	waits        waits
}

// The waits of a reading are its groups with ready items that no worker gets.
type waits struct {
	text         string // who waits, and why
	most, paused int    // the ready items of the largest of the groups, and of paused ones
}

func (r *reading) gauges() entry {
	s, ready, processing := &r.stats, time.Duration(0), time.Duration(0)
	for i := range s.PerShard {
		ready, processing = max(ready, s.PerShard[i].OldestReady), max(processing, s.PerShard[i].OldestProcessing)
	}
	g := entry{
		"ready": s.Ready, "processing": s.Processing, "delayed": s.Delayed, "held": s.Held, "capacity": s.Capacity,
		"groups": s.Groups, "throttled": s.Throttled, "parked": s.Parked, "workers": s.Workers,
		"stuck": r.stuck, "stuckAtLeast": r.stuckAtLeast, "paused": s.Paused, "pausedSince": known(s.PausedSince, s.Paused),
		"ratePerSecond": known(s.Rate.PerSecond, s.Rate.PerSecond > 0), "outageFailures": s.OutageFailures,
		"limited": known(s.Limited, s.Limited >= 0 && r.fault == ""), "skew": s.Skew(),
		"oldestReadySeconds":      known(inSeconds(ready), r.options.Ages),
		"oldestProcessingSeconds": known(inSeconds(processing), r.options.Ages),
		"nextDueSeconds":          until(r.now, s.NextDue),
		"dirty":                   nil, "depth": nil, "unfinishedSeconds": nil,
		"addedPerSecond": nil, "donePerSecond": nil, "failedPerSecond": nil, "discardedPerSecond": nil,
	}
	if r.course != nil {
		r.course.addRates(g)
	}
	if m := s.Metrics; m != nil {
		g["dirty"], g["depth"], g["unfinishedSeconds"] = m.Dirty, m.Depth, inSeconds(m.Unfinished)
	}
	return g
}

func (r *reading) counters() entry {
	s := &r.stats
	c := entry{
		"added": s.Added, "deduplicated": s.Deduplicated, "expired": s.Expired, "dropped": s.Dropped, "canceled": s.Canceled,
		"overCapacity": s.OverCapacity, "rejected": s.Rejected, "misused": s.Misused, "discarded": s.Discarded, "outages": s.Outages,
		"retries": nil, "backoffs": nil, "handedOut": nil, "done": s.Done,
	}
	if m := s.Metrics; m != nil {
		c["retries"], c["backoffs"], c["handedOut"] = m.Retries, m.Backoffs, m.QueueDuration.Count
	}
	return c
}

func (r *reading) values() entry {
	v := r.stats.Values
	if v == nil {
		return nil
	}
	return entry{
		"keys": v.Keys, "lingering": v.Lingering, "weight": v.Weight, "capacity": v.Capacity,
		"put": v.Put, "merged": v.Merged, "overCapacity": v.OverCapacity, "mergedShare": ratio(v.Merged, v.Put),
	}
}

type figure struct {
	heading
	Meaning, Text, Limit string
}

var gauges = each([]heading{
	{"Ready", "gauges.ready", asCount, ""}, {"Oldest ready", "gauges.oldestReadySeconds", asDuration, ""},
	{"In flight", "gauges.processing", asCount, ""}, {"Longest in flight", "gauges.oldestProcessingSeconds", asDuration, ""},
	{"Unfinished work", "gauges.unfinishedSeconds", asDuration, ""}, {"Dirty", "gauges.dirty", asCount, ""},
	{"Delayed", "gauges.delayed", asCount, ""}, {"Next delay expires in about", "gauges.nextDueSeconds", asDuration, ""},
	{"Held, in any state", "gauges.held", asCount, ""}, {"Paused", "gauges.paused", asTruth, ""},
	{"Workers in Run", "gauges.workers", asCount, ""}, {"Parked consumers", "gauges.parked", asCount, ""},
	{"Groups with items", "gauges.groups", asCount, ""}, {"Throttled groups", "gauges.throttled", asCount, ""},
	{"Rate limit per second", "gauges.ratePerSecond", asDecimal, ""}, {"Failures in a row", "gauges.outageFailures", asCount, ""},
	{"Items in the limiter", "gauges.limited", asCount, ""}, {"Skew of the shards", "gauges.skew", asRatio, ""},
	{"Keys with a pending value", "values.keys", asCount, ""}, {"Keys that linger", "values.lingering", asCount, ""},
	{"Weight of pending values", "values.weight", asCount, ""}, {"Share of puts merged", "values.mergedShare", asShare, ""},
}, func(h heading) figure { return figure{heading: h} })

var limits = map[string]string{"gauges.held": "gauges.capacity", "values.weight": "values.capacity"}

var counters = each([][3]string{
	{"counters.added", "Added", "adds that requested a run"},
	{"counters.deduplicated", "Deduplicated", "adds of items that were to run anyway"},
	{"counters.handedOut", "Handed out", "items that Get returned"},
	{"counters.done", "Done", "items whose processing ended"},
	{"counters.retries", "Retries", "adds with a delay"},
	{"counters.backoffs", "Backoffs", "retries with a delay from the limiter, because work failed"},
	{"counters.expired", "Expired", "delays that expired"},
	{"counters.discarded", "Discarded", "items that workers discarded"},
	{"counters.outages", "Outages", "times that five attempts failed, with no success between them"},
	{"counters.canceled", "Canceled", "calls of Cancel that withdrew an add"},
	{"counters.overCapacity", "Over capacity", "items added beyond the capacity"},
	{"counters.dropped", "Dropped", "adds after the shutdown began, and items that it dropped"},
	{"counters.rejected", "Rejected", "items that are not equal to themselves"},
	{"counters.misused", "Misused", "Dones of items that were not in processing"},
	{"values.put", "Values put", "values that were put and accepted"},
	{"values.merged", "Values merged", "those that merged into another before a worker took them"},
	{"values.overCapacity", "Values over capacity", "times that the pending values exceeded the capacity"},
}, func(c [3]string) figure { return figure{heading: heading{c[1], c[0], asCount, ""}, Meaning: c[2]} })

func (q queueReport) Now() []figure     { return q.figures(gauges) }
func (q queueReport) Counted() []figure { return q.figures(counters) }

func (q queueReport) figures(of []figure) (shown []figure) {
	all := entry{"gauges": q.Gauges, "counters": q.Counters, "values": q.Values}
	for _, f := range of {
		if q.Values != nil || !strings.HasPrefix(f.Field, "values.") {
			f.Text, f.Limit = formatValue(f.Format, at(all, f.Field)), ofCapacity(asCount, at(all, limits[f.Field]))
			shown = append(shown, f)
		}
	}
	return shown
}

func ofCapacity(format string, capacity any) string {
	n, _ := capacity.(int)
	return orNone(n > 0, " of "+formatValue(format, n), "")
}

type fact struct{ Title, Text string }

func configuration(c stats.Configuration) entry {
	return entry{
		"item": c.Item, "shards": c.Shards, "routing": c.Routing, "capacity": c.Capacity,
		"tickSeconds": inSeconds(c.Tick), "stuckSeconds": inSeconds(c.StuckAfter),
		"lowPriorityInterval": c.LowPriorityInterval,
		"groups":              c.Groups, "ages": c.Ages, "metrics": c.Metrics, "limiter": c.Limiter, "clock": c.Clock,
	}
}

func (q queueReport) Configured() []fact {
	c, of := q.Detail.options, ""
	if capacity, is := q.Values["capacity"].(int); is {
		c.Capacity, of = capacity, ", of pending values"
	}
	return []fact{
		{"Shards", formatCount(c.Shards)}, {"Routing", c.Routing},
		{"Capacity", orNone(c.Capacity > 0, formatCount(c.Capacity)+of, "no limit")},
		{"Tick", formatDuration(c.Tick)}, {"Stuck after", orNone(c.StuckAfter > 0, formatDuration(c.StuckAfter), "never")},
		{"Groups", orNone(c.Groups, "on", "off")},
		{"Low priorities", orNone(c.LowPriorityInterval > 0, "every "+formatCount(c.LowPriorityInterval)+" Gets", "strict priorities")},
		{"Ages", orNone(c.Ages, "on", "off")}, {"Metrics", orNone(c.Metrics, "on", "off")},
		{"Limiter", typeInWords(c.Limiter)}, {"Clock", typeInWords(c.Clock)},
	}
}

var (
	typeName = regexp.MustCompile(`([A-Za-z0-9_]+)(?:\[.*)?$`)
	capitals = regexp.MustCompile(`\B[A-Z]`)
)

// typeInWords returns "per item" for *limiter.perItem[string].
func typeInWords(name string) string {
	if found := typeName.FindStringSubmatch(name); found != nil {
		return strings.ToLower(capitals.ReplaceAllString(found[1], " $0"))
	}
	return name
}

func orNone(there bool, text, none string) string {
	if there {
		return text
	}
	return none
}

const running, shuttingDown, drained = "running", "shutting down", "drained"

func (r *reading) state() string {
	switch {
	case r.fault != "":
		return "unknown"
	case !r.stats.ShuttingDown:
		return running
	case r.stats.Held > 0:
		return shuttingDown
	}
	return drained
}

// A verdict judges a reading and the trend before it. Beside is the trend of a
// queue with a verdict of another kind.
type verdict struct {
	Name   string   `json:"name"`
	Tone   string   `json:"tone"`
	Text   string   `json:"text"`
	Beside *verdict `json:"beside,omitempty"`
}

const bad, warn, plain, good = "bad", "warn", "plain", "good"

var tones = []string{bad, warn, plain, good}

func (v verdict) problem() bool { return v.Tone == bad || v.Tone == warn }

type rule struct {
	name, tone string
	holds      func(*reading) bool
	text       func(*reading) string
}

// rules decide by the first that holds. The trend refines "working".
var rules = []rule{
	{"unknown", bad, func(r *reading) bool { return r.fault != "" }, always("unknown")},
	{"drained", plain, func(r *reading) bool { return r.state() == drained }, always("drained")},
	{"stuck", bad, func(r *reading) bool { return r.stuck > 0 }, func(r *reading) string {
		return formatCount(r.stuck) + orNone(r.stuckAtLeast, " or more", "") + " stuck" + orNone(r.stats.Paused, ", paused", "")
	}},
	{"paused", warn, func(r *reading) bool { return r.stats.Paused }, func(r *reading) string {
		since := r.stats.PausedSince.UTC().Format(time.TimeOnly)
		return "paused since " + since + orNone(r.stats.Ready > 0, ": "+formatWaiting(r.stats.Ready), "")
	}},
	{"outage", bad, func(r *reading) bool { return r.course.health() == isDown && r.stats.Held > 0 }, func(r *reading) string {
		run := r.stats.OutageFailures
		return orNone(run > 0, "outage: the last "+formatCount(run)+" attempts failed", "outage: attempts succeed again") + r.deadLetters()
	}},
	{"full", warn, func(r *reading) bool {
		held, capacity := r.limited()
		return capacity > 0 && held >= capacity-capacity/100
	}, func(r *reading) string {
		held, capacity := r.limited()
		return "full: " + formatBrief(held) + " of " + formatBrief(capacity)
	}},
	{"no workers", bad, func(r *reading) bool {
		return r.stats.Ready > 0 && r.stats.Workers == 0 && r.stats.Parked == 0 && r.stats.Processing == 0
	}, func(r *reading) string { return "no workers: " + r.ready() + r.oldest() }},
	{"failing", warn, func(r *reading) bool { return r.course.health() == failsOften && r.course.failing() > 0 }, func(r *reading) string {
		return "failing: " + formatShare(r.course.failing()) + orNone(r.course.now().ownLoop, " came back with a backoff", " of attempts") + r.deadLetters()
	}},
	{"throttled", warn, func(r *reading) bool { // only the groups, or the rate of the queue, keep consumers from what is ready
		parked := r.stats.Parked > 0 && (r.stats.Throttled > 0 || r.stats.Rate.PerSecond > 0)
		large := r.waits.most >= 10 && 2*r.waits.most >= r.stats.Ready // news also while workers are busy with others
		return r.stats.Ready > 0 && (parked || large || r.waits.paused > 0)
	}, func(r *reading) string {
		return orNone(r.waits.most > 0, r.waits.text, "throttled: "+r.ready()+", workers wait")
	}},
	{"shutting down", warn, func(r *reading) bool { return r.state() == shuttingDown }, func(r *reading) string {
		return "shutting down: " + formatCount(r.stats.Held) + " left"
	}},
	{"discarding", warn, func(r *reading) bool { return r.course.deadLetters() > 0 }, func(r *reading) string {
		return "discarding: " + strings.TrimPrefix(r.deadLetters(), ", ")
	}},
	{"working", plain, func(r *reading) bool { return r.stats.Ready > 0 }, func(r *reading) string {
		return "working: " + r.ready() + r.oldest()
	}},
	{"keeping up", good, func(r *reading) bool { return r.stats.Processing > 0 }, always("keeping up: nothing is ready")},
	{"idle", good, func(*reading) bool { return true }, always("idle")},
}

// deadLetters returns how many there are, if some are of the window.
func (r *reading) deadLetters() string {
	all, n := r.stats.Discarded, r.course.deadLetters()
	perMinute := float64(n) / max(r.course.span(), time.Second).Minutes()
	return orNone(n > 0, ", "+formatCount(all)+orNone(all == 1, " dead letter, ", " dead letters, ")+formatChange(perMinute), "")
}

func always(text string) func(*reading) string { return func(*reading) string { return text } }

func (r *reading) verdict() verdict {
	i := slices.IndexFunc(rules, func(one rule) bool { return one.holds(r) })
	alone := verdict{Name: rules[i].name, Tone: rules[i].tone, Text: rules[i].text(r)}
	if len(r.course) == 0 {
		return alone
	}
	trend := r.course.trend()
	if slowly := r.long.fallingBehind(); slowly != nil && trend != nil && trend.Tone == plain {
		trend = slowly
	}
	switch {
	case trend == nil:
	case alone.Name == "working", alone.Name == "no workers" && trend.Name != "nothing is done":
		return *trend
	case trend.Tone != plain && slices.Contains([]string{"outage", "full", "stuck", "throttled", "shutting down", "failing", "discarding"}, alone.Name):
		trend.Tone = orNone(trend.Tone == good, plain, trend.Tone)
		alone.Beside = trend
	}
	return alone
}

// inWords returns the verdict as one line of text.
func (v verdict) inWords() string {
	if v.Beside != nil {
		return v.Text + "; " + v.Beside.Text
	}
	return v.Text
}

func (r *reading) ready() string  { return formatCount(r.stats.Ready) + " ready" }
func (r *reading) oldest() string { return oldest(newSample(&r.stats, r.options.Ages)) }

func (r *reading) limited() (held, capacity int) {
	if v := r.stats.Values; v != nil && v.Capacity > 0 {
		return v.Weight, v.Capacity
	}
	return r.stats.Held, r.stats.Capacity
}

func problemsFirst(queues []queueReport) []queueReport {
	return slices.SortedStableFunc(slices.Values(queues), func(a, b queueReport) int {
		return cmp.Compare(slices.Index(tones, a.Verdict.Tone), slices.Index(tones, b.Verdict.Tone))
	})
}

// limit leaves out the last of the queues with the best verdicts.
func (r *report) limit(most int) {
	out := map[string]bool{}
	for _, q := range problemsFirst(r.Queues)[min(most, len(r.Queues)):] {
		out[q.ID] = true
		r.NotShown++
		if q.Verdict.problem() {
			r.ProblemsNotShown++
		}
	}
	r.Queues = slices.DeleteFunc(r.Queues, func(q queueReport) bool { return out[q.ID] })
}

func (r report) problems() int {
	return r.ProblemsNotShown + len(slices.DeleteFunc(slices.Clone(r.Queues), func(q queueReport) bool { return !q.Verdict.problem() }))
}

func (r report) notShownText() string {
	problems := orNone(r.ProblemsNotShown > 0, formatCount(r.ProblemsNotShown), "none")
	return orNone(r.NotShown > 0, formatCount(r.NotShown)+" more, "+problems+" of them with a problem", "")
}
