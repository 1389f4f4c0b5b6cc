package debugpage

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// outcomes are what became of the attempts of workers.
type outcomes struct {
	// Attempts has a row for each result that an attempt had. It is empty
	// without metrics.
	Attempts []attempts `json:"attempts"`
	// AttemptsByGroup has the groups with the most attempts.
	AttemptsByGroup []groupAttempts `json:"attemptsByGroup"`
	// Failures are the last failed attempts whose items run again, and Discards
	// those whose items were discarded, the newest first.
	Failures []failedAttempt `json:"failures"`
	Discards []failedAttempt `json:"discards"`
}

// attempts is a row about the attempts with a result.
type attempts struct {
	Result string `json:"result"`
	Count  uint64 `json:"count"`
	// Share is the share of all attempts.
	Share       float64  `json:"share"`
	MeanSeconds *seconds `json:"meanSeconds"`
	P50Seconds  *seconds `json:"p50Seconds"`
	P99Seconds  *seconds `json:"p99Seconds"`
}

// groupAttempts is a row about the attempts at items of a group.
type groupAttempts struct {
	Group       string `json:"group"`
	GroupLength int    `json:"groupLength,omitempty"`
	Total       uint64 `json:"total"`
	Success     uint64 `json:"success"`
	Error       uint64 `json:"error"`
	Panic       uint64 `json:"panic"`
	Timeout     uint64 `json:"timeout"`
	Requeue     uint64 `json:"requeue"`
	Discarded   uint64 `json:"discarded"`
}

// A failedAttempt is a row about an attempt that failed.
type failedAttempt struct {
	// ID selects the item, as in item.
	ID        string `json:"id,omitempty"`
	Key       string `json:"key"`
	KeyLength int    `json:"keyLength,omitempty"`
	// AgeSeconds is how long ago it failed.
	AgeSeconds seconds `json:"ageSeconds"`
	Attempt    int     `json:"attempt"`
	Error      string  `json:"error"`
	// ErrorLength is the length of the text in bytes, if it was cut. It is 0 if
	// the queue had cut the text before: Error ends in an ellipsis then.
	ErrorLength int  `json:"errorLength,omitempty"`
	Panicked    bool `json:"panicked"`
	// Reason says why the item was discarded, and is empty if it runs again.
	Reason      string `json:"reason"`
	Group       string `json:"group"`
	GroupLength int    `json:"groupLength,omitempty"`
}

// outcomes reads the outcomes of a queue at a time of its clock.
func (rd reader) outcomes(n named, s shardq.Stats, now time.Time) outcomes {
	failed, discarded := n.queue.Inspect().RecentFailures(rd.rows)
	return outcomes{
		newAttempts(s.Metrics), rd.attemptsByGroup(n),
		rd.failedAttempts(n, failed, now), rd.failedAttempts(n, discarded, now),
	}
}

func newAttempts(m *stats.Metrics) []attempts {
	rows := []attempts{}
	if m == nil {
		return rows
	}
	total := uint64(0)
	for _, h := range m.Attempts.All() {
		total += h.Count
	}
	for result, h := range m.Attempts.All() {
		if h.Count > 0 {
			described := newHistogram(*h, 0)
			rows = append(rows, attempts{
				result.String(), h.Count, ratio(h.Count, total),
				described.MeanSeconds, described.P50Seconds, described.P99Seconds,
			})
		}
	}
	return rows
}

func (rd reader) attemptsByGroup(n named) []groupAttempts {
	groups := n.queue.Inspect().GroupAttempts(rd.rows)
	rows := make([]groupAttempts, len(groups))
	for i, g := range groups {
		name := rd.group(n.name, g.Group)
		rows[i] = groupAttempts{
			name.text, name.length, g.Total(),
			g.Counts[stats.Succeeded], g.Counts[stats.Failed], g.Counts[stats.Panicked],
			g.Counts[stats.TimedOut], g.Counts[stats.Requeued], g.Counts[stats.Discarded],
		}
	}
	return rows
}

func (rd reader) failedAttempts(n named, failures []stats.Failure[any], now time.Time) []failedAttempt {
	rows := make([]failedAttempt, len(failures))
	for i, f := range failures {
		key, text := rd.key(n.name, f.Item), rd.errorText(n.name, f.Error)
		rows[i] = failedAttempt{
			ID: rd.idOf(f.Item), Key: key.text, KeyLength: key.length, AgeSeconds: inSeconds(max(now.Sub(f.Time), 0)),
			Attempt: f.Attempt, Error: text.text, ErrorLength: text.length, Panicked: f.Panicked, Reason: f.Reason,
		}
		if f.Group != "" {
			group := rd.group(n.name, f.Group)
			rows[i].Group, rows[i].GroupLength = group.text, group.length
		}
	}
	return rows
}

// errorHidden is shown in place of a text that may have what other options
// hide.
const errorHidden = "(hidden, because keys or groups are: see Options.RedactError)"

// errorText returns the text to show for the text of an error.
func (rd reader) errorText(queue, text string) shownKey {
	switch {
	case rd.options.RedactError != nil:
		text, redacted, returned := wholeWords(text), "", false
		shown := redact(func() string {
			redacted = rd.options.RedactError(queue, text)
			returned = true
			return redacted
		})
		if returned && redacted == "" { // the quotes of an empty key would be misleading
			return shownKey{}
		}
		return shown.unlessCutBefore(redacted)
	case rd.options.RedactKey != nil || rd.options.RedactGroup != nil:
		return shownKey{text: errorHidden}
	}
	return showText(text).unlessCutBefore(text)
}

// cutErrorBytes is the least length of a text that the queue has cut, with its
// ellipsis.
const cutErrorBytes = 512

// wholeWords returns a text without the last word and with an ellipsis, if the
// queue has cut the text. RedactError may not recognize a secret by its
// beginning, which may be all that is left of the last word.
func wholeWords(text string) string {
	const ellipsis = "…"
	if len(text) < cutErrorBytes || !strings.HasSuffix(text, ellipsis) {
		return text
	}
	end := strings.LastIndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return ellipsis
	}
	_, size := utf8.DecodeRuneInString(text[end:])
	return text[:end+size] + ellipsis
}

// unlessCutBefore returns the key without its length if the text that it shows
// ends in an ellipsis. The queue has cut such a text, so its length is not that
// of the error.
func (k shownKey) unlessCutBefore(text string) shownKey {
	if k.length > 0 && strings.HasSuffix(text, "…") {
		return shownKey{text: k.text + "…"}
	}
	return k
}

var attemptsColumns = []column[attempts]{
	{heading{"Result", "result", asKey, ""}, func(a attempts) any { return a.Result }},
	{heading{"Attempts", "count", asCount, ""}, func(a attempts) any { return a.Count }},
	{heading{"Share", "share", asShare, ""}, func(a attempts) any { return a.Share }},
	{heading{"Mean", "meanSeconds", asDuration, ""}, func(a attempts) any { return a.MeanSeconds }},
	{heading{"Half", "p50Seconds", asDuration, ""}, func(a attempts) any { return a.P50Seconds }},
	{heading{"99 %", "p99Seconds", asDuration, ""}, func(a attempts) any { return a.P99Seconds }},
}

var groupAttemptsColumns = []column[groupAttempts]{
	{heading{"Group", "group", asKey, ""}, func(g groupAttempts) any { return g.Group }},
	{heading{"Attempts", "total", asCount, "descending"}, func(g groupAttempts) any { return g.Total }},
	{heading{"success", "success", asCount, ""}, func(g groupAttempts) any { return g.Success }},
	{heading{"error", "error", asCount, ""}, func(g groupAttempts) any { return g.Error }},
	{heading{"panic", "panic", asCount, ""}, func(g groupAttempts) any { return g.Panic }},
	{heading{"timeout", "timeout", asCount, ""}, func(g groupAttempts) any { return g.Timeout }},
	{heading{"requeue", "requeue", asCount, ""}, func(g groupAttempts) any { return g.Requeue }},
	{heading{"discarded", "discarded", asCount, ""}, func(g groupAttempts) any { return g.Discarded }},
}

var failedColumns = []column[failedAttempt]{
	{heading{"Key", "key", asKey, ""}, func(f failedAttempt) any { return f.Key }},
	{heading{"Ago", "ageSeconds", asDuration, "ascending"}, func(f failedAttempt) any { return f.AgeSeconds }},
	{heading{"Attempt", "attempt", asCount, ""}, func(f failedAttempt) any { return f.Attempt }},
	{heading{"Error", "error", asError, ""}, func(f failedAttempt) any { return f.Error }},
	{heading{"Panic", "panicked", asYes, ""}, func(f failedAttempt) any { return f.Panicked }},
	{heading{"Group", "group", asWords, ""}, func(f failedAttempt) any { return f.Group }},
}

// discardedColumns say also why the item was discarded.
var discardedColumns = slices.Insert(slices.Clone(failedColumns), 4,
	column[failedAttempt]{heading{"Because", "reason", asWords, ""}, func(f failedAttempt) any { return f.Reason }})

// tables returns the tables of the outcomes. Each stands only where it can have
// rows.
func (o *outcomes) tables(c configuration) []table {
	failed, discarded := failedColumns, discardedColumns
	if !c.Groups {
		failed, discarded = failed[:len(failed)-1], discarded[:len(discarded)-1]
	}
	var all []table
	if c.Metrics {
		all = append(all, newTable(table{
			Path: "detail.attempts", Title: "Attempts by result", Empty: "No worker has made an attempt.",
		}, attemptsColumns, o.Attempts))
	}
	if c.Metrics && c.Groups {
		all = append(all, newTable(table{
			Path: "detail.attemptsByGroup", Title: "Attempts by group, most first", Empty: "No worker has made an attempt.",
		}, groupAttemptsColumns, o.AttemptsByGroup))
	}
	return append(all,
		newTable(table{
			Path: "detail.failures", Title: "Last failures, newest first", Empty: "No attempt has failed whose item runs again.",
		}, failed, o.Failures),
		newTable(table{
			Path: "detail.discards", Title: "Dead letters, newest first", Empty: "No item was discarded.",
		}, discarded, o.Discards))
}

// addLengths adds the lengths of what was cut to the cells of a row.
func (f failedAttempt) addLengths(cells []cell) {
	columns := failedColumns
	if f.Reason != "" {
		columns = discardedColumns
	}
	for i, c := range columns[:len(cells)] {
		switch c.Field {
		case "key":
			cells[i].KeyLength = f.KeyLength
		case "error":
			cells[i].KeyLength = f.ErrorLength
		case "group":
			cells[i].KeyLength = f.GroupLength
		}
	}
}
