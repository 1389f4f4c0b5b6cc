package debugpage

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// An awkward key has a String method that panics.
type awkward struct{ n int }

func (a awkward) String() string { panic(a.n) }

func TestKeysOfAllTypes(t *testing.T) {
	type pair struct {
		Tenant string
		n      int
	}
	number := 7
	for _, c := range []struct {
		item any
		want string
	}{
		{"invoice/17", "invoice/17"}, {42, "42"}, {-1.5, "-1.5"}, {nil, "<nil>"}, {90 * time.Second, "1m30s"},
		{netip.MustParseAddr("192.0.2.1"), "192.0.2.1"}, {pair{"acme", 3}, "{acme 3}"},
		{&number, fmt.Sprintf("(*int)(%p)", &number)}, {awkward{1}, "(its String method panicked)"},
		// Hostile ones.
		{"", `""`}, {"Grüße/世界", "Grüße/世界"}, {`"quoted"`, `"\"quoted\""`},
		{"line\nline\ttab", `"line\nline\ttab"`}, {"\xff\xfe", `"\xff\xfe"`},
		{"user\u202etxt.exe", `"user\u202etxt.exe"`},
		{"filler\u3164", "filler\u3164"}, // a letter in Unicode
		{" blank", `" blank"`}, {"blank ", `"blank "`},
	} {
		require.Equal(t, shownKey{Text: c.want}, showItem(c.item), "%T", c.item)
	}
}

// TestLongKeys checks that a key is cut between two runes, and its length is
// added, and that a key of a megabyte costs as much as a short one.
func TestLongKeys(t *testing.T) {
	require.Equal(t, shownKey{strings.Repeat("x", maxKeyBytes), 0}, showItem(strings.Repeat("x", maxKeyBytes)))
	require.Equal(t, shownKey{strings.Repeat("x", maxKeyBytes), maxKeyBytes + 1}, showItem(strings.Repeat("x", maxKeyBytes+1)))
	for shift := range 4 {
		key := strings.Repeat("x", shift) + strings.Repeat("🙂", 100)
		shown := showItem(key)
		require.True(t, utf8.ValidString(shown.Text) && strings.HasPrefix(key, shown.Text), shown.Text)
		require.Greater(t, len(shown.Text), maxKeyBytes-utf8.UTFMax)
		require.LessOrEqual(t, len(shown.Text), maxKeyBytes)
		require.Equal(t, len(key), shown.KeyLength)
	}
	require.Equal(t, 1<<20, showItem(strings.Repeat("\x80", 1<<20)).KeyLength, "which is not UTF-8")
	spaced := strings.Repeat("x", maxKeyBytes-1) + " "
	require.Equal(t, shownKey{spaced, maxKeyBytes + 1}, showItem(spaced+"x"), "cut after a space")
	require.Equal(t, `"`+strings.Repeat(" ", maxKeyBytes)+`"`, showItem(strings.Repeat(" ", 1000)).Text)
	require.Equal(t, "xxx… (1,048,576 bytes)", shownKey{"xxx", 1 << 20}.inWords())
	var huge any = strings.Repeat("<", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		showItem(huge)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100*4096))
}

// TestHostileKeysInAllForms checks that no key and no group breaks out of its
// context, and that the length of a cut one is outside its text. A test in a
// browser has more keys.
func TestHostileKeysInAllForms(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{
		Name: `"><img src=x onerror=alert(1)>`, Metrics: true, Group: func(item string) string { return item },
	})
	long := strings.Repeat("ש", 1<<19)
	q.AddBatch([]string{"<script>alert(1)</script>", `"onmouseover="alert(2)`, "l1\nl2", long}, shardq.AddOptions{})
	h := Handler(q)
	body := get(t, h, "")
	for _, bad := range []string{"<script>alert", "<img", `"onmouseover`, "l1\nl2"} {
		require.NotContains(t, body, bad)
	}
	cut := "<bdi>" + long[:200] + "</bdi><small>… 1,048,576 bytes</small>"
	require.Equal(t, 3, strings.Count(strings.ReplaceAll(body, "</a>", ""), cut), "as a key, and twice as a group")
	require.Less(t, len(body), 200_000)
	text := get(t, h, "?format=text")
	require.Contains(t, text, `"l1\nl2"`)
	require.Contains(t, text, long[:200]+"… (1,048,576 bytes)")
}

// TestRedaction: nothing of a key or a group is shown in any form. The text of
// an error is hidden as soon as anything is, unless an option says what to
// show.
func TestRedaction(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Name: "mails", Group: func(string) string { return "secret group" }})
	q.Add("secret")
	ctx, stop := context.WithCancel(t.Context())
	require.NoError(t, q.Run(ctx, 1, func(_ context.Context, item string) error {
		stop()
		return worker.Permanent(errors.New("no such " + item + strings.Repeat(" é", 200)))
	}))
	q.Add("secret")
	hideKey := func(string, any) string { return "a key" }
	hideGroup := func(queue, _ string) string { return "group of " + queue }
	discard := func(o Options) entry {
		o.Queues = []shardq.Inspector{q}
		h := must(t, o)
		for _, format := range []string{asHTML, asJSON, asText} {
			if body := get(t, h, "?format="+format); o.RedactKey != nil && o.RedactGroup != nil {
				require.NotContains(t, body, "secret", format)
			}
		}
		d := getQueue(t, h, "").Detail
		require.Equal(t, d.Discards[0]["key"], d.Ready[0]["key"])
		require.Equal(t, d.Discards[0]["group"], d.Groups[0]["group"])
		return d.Discards[0]
	}
	require.Contains(t, discard(Options{})["error"], "no such secret")
	require.Equal(t, errorHidden, discard(Options{RedactKey: hideKey})["error"])
	require.Equal(t, errorHidden, discard(Options{RedactGroup: hideGroup})["error"])
	hidden := discard(Options{RedactKey: hideKey, RedactGroup: hideGroup, RedactError: func(queue, text string) string {
		return queue + ": " + strings.ReplaceAll(text[:14], "secret", "…")
	}})
	require.Equal(t, []any{"mails: no such …", "a key", "group of mails"}, []any{hidden["error"], hidden["key"], hidden["group"]})
	require.Empty(t, discard(Options{RedactError: func(string, string) string { return "" }})["error"])
	const panicked = "(redacting it panicked)"
	require.Equal(t, panicked, discard(Options{RedactError: func(string, string) string { panic("secret") }})["error"])
	require.Equal(t, panicked, discard(Options{RedactKey: func(string, any) string { panic("secret") }})["key"])
}

// TestCutErrors checks that the page has the length of a long error, and none
// of an error that the queue had cut already, and shows no part of a secret in
// which the queue cuts the text.
func TestCutErrors(t *testing.T) {
	texts := map[string]string{
		"whole": strings.Repeat("x", 512), "cut": strings.Repeat("x", 513),
		"secret": strings.Repeat("x ", 250) + "key:sk-0123456789abcdef is unknown",
	}
	q := shardq.MustNew(shardq.Options[string]{Name: "q"})
	for item := range texts {
		q.Add(item)
	}
	q.ShutDown()
	require.NoError(t, q.Run(t.Context(), 1, func(_ context.Context, item string) error {
		return worker.Permanent(errors.New(texts[item]))
	}))
	shown := func(redact func(queue, text string) string) map[any]any {
		errorOf := map[any]any{}
		h := must(t, Options{Queues: []shardq.Inspector{q}, RedactError: redact})
		for _, row := range getQueue(t, h, "").Detail.Discards {
			errorOf[row["key"]] = row["error"]
		}
		return errorOf
	}
	pattern := regexp.MustCompile(`sk-[0-9a-f]{16}`)
	redacted := shown(func(_, text string) string { return pattern.ReplaceAllString(text, "***") })
	require.Equal(t, map[any]any{"whole": texts["whole"], "cut": "…", "secret": strings.Repeat("x ", 250) + "…"}, redacted)
	require.Equal(t, texts["whole"], shown(nil)["whole"], "to its end")
	require.Regexp(t, "^x+…$", shown(nil)["cut"])
	require.Equal(t, strings.Repeat("x", 500)+"\u2003…", wholeWords(strings.Repeat("x", 500)+"\u2003secret…"))
	for _, text := range []string{"", "a secret", "connecting…", strings.Repeat("x ", 256), strings.Repeat("x", 509) + " …"} {
		require.Equal(t, text, wholeWords(text))
	}
}
