package debugpage

import (
	"cmp"
	"slices"
)

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

// A verdict says in a few words how a queue is doing, from one reading. In a
// browser, the script adds the trend: see trend.js.
type verdict struct {
	Name string `json:"name"`
	Tone string `json:"tone"`
	Text string `json:"text"`
}

const bad, warn, plain, good = "bad", "warn", "plain", "good" // the tones

// problem reports whether the queue needs an operator.
func (v verdict) problem() bool { return v.Tone == bad || v.Tone == warn }

// rank is lower for a worse verdict.
func (v verdict) rank() int { return slices.Index([]string{bad, warn, plain, good}, v.Tone) }

// A rule gives a verdict to the readings for which it holds.
type rule struct {
	name, tone string
	holds      func(*reading) bool
	text       func(*reading) string
}

// rules is the decision table: the first rule that holds counts. The last one
// always holds. The script refines the verdict "working" by the trend.
var rules = []rule{
	{"unknown", bad, func(r *reading) bool { return r.fault != "" }, always("unknown")},
	{"drained", plain, func(r *reading) bool { return r.state() == drained }, always("drained")},
	{"stuck", bad, func(r *reading) bool { return r.stuck > 0 }, func(r *reading) string {
		return formatCount(r.stuck) + orNone(r.stuckAtLeast, " or more", "") + " stuck" + orNone(r.stats.Paused, ", paused", "")
	}},
	{"paused", warn, func(r *reading) bool { return r.stats.Paused }, always("paused")},
	{"outage", bad, func(r *reading) bool { return r.stats.OutageFailures > 0 && r.stats.Held > 0 }, func(r *reading) string {
		return "outage: the last " + formatCount(r.stats.OutageFailures) + " attempts failed"
	}},
	{"full", warn, func(r *reading) bool { held, capacity := r.limited(); return capacity > 0 && held >= capacity }, func(r *reading) string {
		held, capacity := r.limited()
		return "full: " + formatBrief(held) + " of " + formatBrief(capacity)
	}},
	{"no workers", bad, (*reading).unattended, func(r *reading) string { return "no workers: " + r.ready() }},
	{"throttled", warn, (*reading).throttled, func(r *reading) string { return "throttled: " + r.ready() + ", workers wait" }},
	{"shutting down", warn, func(r *reading) bool { return r.state() == shuttingDown }, func(r *reading) string {
		return "shutting down: " + formatCount(r.stats.Held) + " left"
	}},
	{"working", plain, func(r *reading) bool { return r.stats.Ready > 0 }, func(r *reading) string { return "working: " + r.ready() }},
	{"keeping up", good, func(r *reading) bool { return r.stats.Processing > 0 }, always("keeping up: nothing is ready")},
	{"idle", good, func(*reading) bool { return true }, always("idle")},
}

func always(text string) func(*reading) string { return func(*reading) string { return text } }

func (r *reading) verdict() verdict {
	i := slices.IndexFunc(rules, func(one rule) bool { return one.holds(r) })
	return verdict{rules[i].name, rules[i].tone, rules[i].text(r)}
}

func (r *reading) ready() string { return formatCount(r.stats.Ready) + " ready" }

// limited returns what the capacity limits, and the capacity.
func (r *reading) limited() (held, capacity int) {
	if v := r.stats.Values; v != nil && v.Capacity > 0 {
		return v.Weight, v.Capacity
	}
	return r.stats.Held, r.stats.Capacity
}

// unattended reports whether items are ready, and no consumer is there.
func (r *reading) unattended() bool {
	s := &r.stats
	return s.Ready > 0 && s.Workers == 0 && s.Parked == 0 && s.Processing == 0
}

// throttled reports whether consumers are parked while items are ready. Only
// the limits, rates and pauses of groups, or the rate of the queue, keep them
// from these items.
func (r *reading) throttled() bool {
	s := &r.stats
	return s.Ready > 0 && s.Parked > 0 && (s.Throttled > 0 || s.Rate.PerSecond > 0)
}

// problemsFirst returns the queues in the order of their verdicts. Among equals
// it keeps the order.
func problemsFirst(queues []queueReport) []queueReport {
	return slices.SortedStableFunc(slices.Values(queues), func(a, b queueReport) int {
		return cmp.Compare(a.Verdict.rank(), b.Verdict.rank())
	})
}

// limit leaves out the queues beyond a number of them: those with the best
// verdicts, and the last of these. The others keep their order.
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

// notShownText says how many queues are left out, or nothing if none is.
func (r report) notShownText() string {
	if r.NotShown == 0 {
		return ""
	}
	return formatCount(r.NotShown) + " more, " + orNone(r.ProblemsNotShown > 0, formatCount(r.ProblemsNotShown), "none") + " of them with a problem"
}
