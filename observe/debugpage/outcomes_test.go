package debugpage

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// reportOutcomes reports attempts to a queue as a worker does.
func reportOutcomes(q *shardq.Queue[string]) {
	owner := engine.Of(q).Owner
	for result, n := range map[stats.Result]int{stats.Succeeded: 6, stats.Failed: 1, stats.Panicked: 1, stats.Discarded: 2} {
		for range n {
			owner.ReportAttempt(worker.Report[string]{Item: "acme/1", Result: result, Duration: time.Duration(1+result) * time.Second, Worker: 1})
		}
	}
	owner.ReportAttempt(worker.Report[string]{Item: "globex/1", Result: stats.Succeeded, Duration: time.Second})
	ctx := context.Background()
	owner.ReportFailure(ctx, worker.Failure[string]{Item: "acme/1", Err: errors.New("connection refused"), Attempt: 2}, nil)
	owner.ReportFailure(ctx, worker.Failure[string]{Item: "globex/1", Err: errors.New("panic"), Attempt: 1}, &worker.PanicError{Value: "index out of range"})
	owner.ReportDiscard(ctx, worker.Failure[string]{Item: "initech/\xff", Err: errors.New("first line\nsecond line"), Attempt: 5, Final: true, Reason: worker.ReasonExhausted}, nil)
}

// TestOutcomes checks the rows about the attempts of workers.
func TestOutcomes(t *testing.T) {
	d := getReport(t, Handler(eventful(t)), "").Queues[0].Detail
	require.Len(t, d.Attempts, 4)
	require.Equal(t, attempts{
		"discarded", 2, 2. / 11, optional(6*time.Second, true), d.Attempts[3].P50Seconds, d.Attempts[3].P99Seconds,
	}, d.Attempts[3])
	require.Equal(t, []groupAttempts{
		{Group: "acme", Total: 10, Success: 6, Error: 1, Panic: 1, Discarded: 2},
		{Group: "globex", Total: 1, Success: 1},
	}, d.AttemptsByGroup)
	require.Equal(t, []failedAttempt{
		{ID: itemID("globex/1"), Key: "globex/1", Attempt: 1, Error: "index out of range", Panicked: true, Group: "globex"},
		{ID: itemID("acme/1"), Key: "acme/1", Attempt: 2, Error: "connection refused", Group: "acme"},
	}, d.Failures)
	require.Equal(t, []failedAttempt{
		{ID: itemID("initech/\xff"), Key: `"initech/\xff"`, Attempt: 5, Error: `"first line\nsecond line"`, Reason: "exhausted", Group: "initech"},
	}, d.Discards)
}

// TestOnlyDeadLetters checks that the dead letters are open if they are the
// only failures, and that the page does not deny them.
func TestOnlyDeadLetters(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "mails"})
	const folded, open = `aria-labelledby="detail.discards"><details>`, `aria-labelledby="detail.discards"><details open>`
	require.Contains(t, get(t, Handler(q), ""), folded)
	owner := engine.Of(q).Owner
	failure := worker.Failure[string]{Item: "acme/1", Err: errors.New("no such address"), Attempt: 1, Final: true, Reason: worker.ReasonExhausted}
	owner.ReportDiscard(t.Context(), failure, nil)
	page := get(t, Handler(q), "")
	require.Contains(t, page, open)
	require.NotContains(t, page, "No attempt has failed.")
	require.Contains(t, page, "No attempt has failed whose item runs again.")
	failure.Final = false
	owner.ReportFailure(t.Context(), failure, nil)
	require.Contains(t, get(t, Handler(q), ""), folded)
}

// TestErrorsAreRedacted: the text of an error is hidden as soon as anything is,
// unless an option says what to show.
func TestErrorsAreRedacted(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "mails", Group: func(string) string { return "secret group" }})
	q.Add("secret")
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, item string) error {
		return worker.Permanent(errors.New("no such " + item + strings.Repeat(" é", 200)))
	}))
	queues := []shardq.Inspector{q}
	hideKey := func(string, any) string { return "a key" }
	hideGroup := func(string, string) string { return "a group" }
	shown := func(o Options) failedAttempt {
		o.Queues = queues
		h := must(t, o)
		for _, format := range []string{asHTML, asJSON, asText} {
			if body := get(t, h, "?format="+format); o.RedactKey != nil && o.RedactGroup != nil {
				require.NotContains(t, body, "secret", format)
			}
		}
		return getReport(t, h, "").Queues[0].Detail.Discards[0]
	}
	require.Contains(t, shown(Options{}).Error, "no such secret")
	require.Equal(t, errorHidden, shown(Options{RedactKey: hideKey}).Error)
	require.Equal(t, errorHidden, shown(Options{RedactGroup: hideGroup}).Error)
	hidden := shown(Options{RedactKey: hideKey, RedactGroup: hideGroup, RedactError: func(queue, text string) string {
		return queue + ": " + strings.ReplaceAll(text[:14], "secret", "…")
	}})
	require.Equal(t, "mails: no such …", hidden.Error)
	require.Equal(t, "a key", hidden.Key)
	require.Equal(t, "a group", hidden.Group)
	require.Empty(t, shown(Options{RedactError: func(string, string) string { return "" }}).Error)
	require.Equal(t, "(redacting it panicked)", shown(Options{RedactError: func(string, string) string { panic("secret") }}).Error)
}

// TestLengthOfErrors checks that the page has the length of a long error, and
// none of an error that the queue had cut already.
func TestLengthOfErrors(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Metrics: true})
	lengths := []int{200, 201, 512, 513}
	for i := range lengths {
		q.Add(i)
	}
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, i int) error {
		return worker.Permanent(errors.New(strings.Repeat("x", lengths[i])))
	}))
	for name, redact := range map[string]func(string, string) string{
		"shown": nil, "redacted": func(_, text string) string { return text },
	} {
		h := must(t, Options{Queues: []shardq.Inspector{q}, RedactError: redact})
		rows := getReport(t, h, "").Queues[0].Detail.Discards
		require.Len(t, rows, len(lengths))
		text := get(t, h, "?format=text")
		for _, row := range rows {
			want, length := strings.Repeat("x", 200), 0
			switch row.Key {
			case "1":
				length = 201
			case "2":
				length = 512
			case "3": // of one word
				want = map[string]string{"shown": want + "…", "redacted": "…"}[name]
			}
			require.Equal(t, want, row.Error, "%s %s", name, row.Key)
			require.Equal(t, length, row.ErrorLength, "%s %s", name, row.Key)
			require.Contains(t, text, shownKey{want, length}.inWords())
		}
		require.NotContains(t, text, "515 bytes", name)
		require.NotContains(t, get(t, h, ""), "515 bytes", name)
	}
}

// TestCutSecretsAreRedacted checks that no part of a secret is shown wherever
// the queue cuts the text.
func TestCutSecretsAreRedacted(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	q := shardq.MustNew(shardq.Options[int]{Name: "q"})
	lengths := 30
	for i := range lengths {
		q.Add(i)
	}
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, i int) error {
		return worker.Permanent(errors.New(strings.Repeat("x ", 248) + strings.Repeat("y", i) + " key:" + secret + " is unknown, " + strings.Repeat("z", i)))
	}))
	pattern := regexp.MustCompile(`sk-[0-9a-f]{16}`)
	var asked []string
	h := must(t, Options{Queues: []shardq.Inspector{q}, MaxRows: 64, RedactError: func(_, text string) string {
		asked = append(asked, text)
		return pattern.ReplaceAllString(text, "***")[480:] // the page shows only the beginning
	}})
	rows := getReport(t, h, "&rows=64").Queues[0].Detail.Discards
	require.Len(t, rows, lengths)
	for i, row := range rows {
		require.NotContains(t, row.Error, "sk", asked[i])
		require.NotContains(t, row.Error, "z…", asked[i])
	}
	require.Equal(t, "…", wholeWords(strings.Repeat("x", 510)+"…"))
	require.Equal(t, strings.Repeat("x", 500)+"\u2003…", wholeWords(strings.Repeat("x", 500)+"\u2003secret…"))
	require.Equal(t, strings.Repeat("x", 509)+" …", wholeWords(strings.Repeat("x", 509)+" …"))
	for _, whole := range []string{"", "a secret", "connecting…", strings.Repeat("x ", 256)} {
		require.Equal(t, whole, wholeWords(whole))
	}
}
