package debugpage

import (
	"cmp"
	"slices"
	"strings"
)

// A verdict says in a few words how a queue is doing, from one reading. In a
// browser, the script adds the trend: see trend.js.
type verdict struct {
	// Name is one of the names in verdicts.
	Name string `json:"name"`
	// Tone is the tone of the verdict: bad, warn, plain or good.
	Tone string `json:"tone"`
	Text string `json:"text"`
}

// The tones, the worst first. bad and warn are problems.
const (
	bad   = "bad"
	warn  = "warn"
	plain = "plain"
	good  = "good"
)

var tones = []string{bad, warn, plain, good}

// problem reports whether the queue needs an operator.
func (v verdict) problem() bool { return v.Tone == bad || v.Tone == warn }

// rank is lower for a worse verdict.
func (v verdict) rank() int { return slices.Index(tones, v.Tone) }

// A rule gives a verdict to the readings for which it holds.
type rule struct {
	name, tone string
	holds      func(queueReport) bool
	text       func(queueReport) string
}

// rules is the decision table: the first rule that holds counts. The last one
// always holds. The script refines the verdict "working" by the trend.
var rules = []rule{
	{"unknown", bad, func(q queueReport) bool { return q.Fault != "" }, always("unknown")},
	{"drained", plain, func(q queueReport) bool { return q.State == drained }, always("drained")},
	{"stuck", bad, func(q queueReport) bool { return q.Gauges.Stuck > 0 }, queueReport.stuckText},
	{"paused", warn, func(q queueReport) bool { return q.Gauges.Paused }, always("paused")},
	{"outage", bad, func(q queueReport) bool { return q.Gauges.OutageFailures > 0 && q.Gauges.Held > 0 }, func(q queueReport) string {
		return "outage: the last " + formatCount(q.Gauges.OutageFailures) + " attempts failed"
	}},
	{"full", warn, queueReport.full, queueReport.fullText},
	{"no workers", bad, queueReport.unattended, func(q queueReport) string {
		return "no workers: " + formatCount(q.Gauges.Ready) + " ready"
	}},
	{"throttled", warn, queueReport.throttled, func(q queueReport) string {
		return "throttled: " + formatCount(q.Gauges.Ready) + " ready, workers wait"
	}},
	{"shutting down", warn, func(q queueReport) bool { return q.State == shuttingDown }, func(q queueReport) string {
		return "shutting down: " + formatCount(q.Gauges.Held) + " left"
	}},
	{"working", plain, func(q queueReport) bool { return q.Gauges.Ready > 0 }, func(q queueReport) string {
		return "working: " + formatCount(q.Gauges.Ready) + " ready"
	}},
	{"keeping up", good, func(q queueReport) bool { return q.Gauges.Processing > 0 }, always("keeping up: nothing is ready")},
	{"idle", good, func(queueReport) bool { return true }, always("idle")},
}

func always(text string) func(queueReport) string { return func(queueReport) string { return text } }

// judge returns the verdict of a reading.
func judge(q queueReport) verdict {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.holds(q) })
	return verdict{rules[i].name, rules[i].tone, rules[i].text(q)}
}

func (q queueReport) stuckText() string {
	text := formatCount(q.Gauges.Stuck)
	if q.Gauges.StuckAtLeast {
		text += " or more"
	}
	return text + " stuck" + orNone(q.Gauges.Paused, ", paused", "")
}

// full reports whether adds with a limit block or are rejected.
func (q queueReport) full() bool {
	held, capacity := q.limited()
	return capacity > 0 && held >= capacity
}

func (q queueReport) fullText() string {
	held, capacity := q.limited()
	return "full: " + formatBrief(held) + " of " + formatBrief(capacity)
}

// limited returns what the capacity limits, and the capacity.
func (q queueReport) limited() (held, capacity int) {
	if q.Values != nil && q.Values.Capacity > 0 {
		return q.Values.Weight, q.Values.Capacity
	}
	return q.Gauges.Held, q.Gauges.Capacity
}

// unattended reports whether items are ready, and no consumer is there: none is
// parked, no worker runs, and nothing is in flight.
func (q queueReport) unattended() bool {
	g := q.Gauges
	return g.Ready > 0 && g.Workers == 0 && g.Parked == 0 && g.Processing == 0
}

// throttled reports whether consumers are parked while items are ready. Only
// the limits, rates and pauses of groups, or the rate of the queue, keep them
// from these items.
func (q queueReport) throttled() bool {
	g := q.Gauges
	return g.Ready > 0 && g.Parked > 0 && (g.Throttled > 0 || g.RatePerSecond != nil)
}

// judged adds the verdict to a report.
func (q *queueReport) judged() { q.Verdict = judge(*q) }

// problemsFirst returns the queues in the order of their verdicts. Among equals
// it keeps the order.
func problemsFirst(queues []queueReport) []queueReport {
	sorted := slices.Clone(queues)
	slices.SortStableFunc(sorted, func(a, b queueReport) int { return cmp.Compare(a.Verdict.rank(), b.Verdict.rank()) })
	return sorted
}

// limit leaves out the queues beyond a number of them: those with the best
// verdicts, and the last of these. The others keep their order.
func (r *report) limit(most int) {
	if len(r.Queues) <= most {
		return
	}
	order := make([]int, len(r.Queues))
	for i := range order {
		order[i] = i
	}
	rank := func(i int) int { return r.Queues[i].Verdict.rank() }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rank(i), rank(j)) })
	for _, i := range order[most:] {
		r.NotShown++
		if r.Queues[i].Verdict.problem() {
			r.ProblemsNotShown++
		}
	}
	kept := make([]queueReport, most)
	slices.Sort(order[:most])
	for i := range kept {
		kept[i] = r.Queues[order[i]]
	}
	r.Queues = kept
}

// notShownText says how many queues are left out, and returns nothing if none
// is.
func (r report) notShownText() string {
	if r.NotShown == 0 {
		return ""
	}
	return formatCount(r.NotShown) + " more, " + orNone(r.ProblemsNotShown > 0, formatCount(r.ProblemsNotShown), "none") + " of them with a problem"
}

// matches reports whether a name has a text in it, in upper or lower case.
func matches(name, text string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(text))
}

// onlyProblems returns the queues whose verdict is a problem.
func onlyProblems(queues []queueReport) []queueReport {
	problems := []queueReport{}
	for _, q := range queues {
		if q.Verdict.problem() {
			problems = append(problems, q)
		}
	}
	return problems
}
