package debugpage

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

func TestKeysOfAllTypes(t *testing.T) {
	type name string
	type pair struct {
		Tenant string
		n      int
	}
	type nested struct {
		address netip.Addr
		At      netip.Addr
		pair    pair
		any     any
	}
	number := 7
	for _, c := range []struct {
		item any
		want string
	}{
		{"invoice/17", "invoice/17"},
		{name("named"), "named"},
		{42, "42"},
		{uint8(200), "200"},
		{-1.5, "-1.5"},
		{true, "true"},
		{2i, "(0+2i)"},
		{nil, "<nil>"},
		{90 * time.Second, "1m30s"},
		{netip.MustParseAddr("192.0.2.1"), "192.0.2.1"},
		{pair{"acme", 3}, "{acme 3}"},
		{[2]string{"a", "b"}, "[a b]"},
		{(*int)(nil), "(*int)(0x0)"},
		{&number, fmt.Sprintf("(*int)(%p)", &number)},
		{struct{}{}, "{}"},
	} {
		require.Equal(t, shownKey{text: c.want}, showItem(c.item), "%T", c.item)
	}
	shown := showItem(nested{netip.MustParseAddr("::2"), netip.MustParseAddr("::1"), pair{"t", 1}, "x"})
	require.Contains(t, shown.text, " ::1 {t 1} x}")
	require.Contains(t, showItem([70]uint8{}).text, " … 6 more]")
}

func TestHostileKeys(t *testing.T) {
	for key, want := range map[string]string{
		"":                          `""`,
		"plain":                     "plain",
		"Grüße/世界":                  "Grüße/世界",
		`a"b\c`:                     `a"b\c`,
		`"quoted"`:                  `"\"quoted\""`,
		"line\nline\ttab":           `"line\nline\ttab"`,
		"\xff\xfe":                  `"\xff\xfe"`,
		"a\x00b":                    `"a\x00b"`,
		"\x1b[31mred":               `"\x1b[31mred"`,
		"user\u202etxt.exe":         `"user\u202etxt.exe"`,
		"zero\u200bwidth":           `"zero\u200bwidth"`,
		"filler\u3164":              "filler\u3164", // a letter in Unicode
		"\u2066isolated":            `"\u2066isolated"`,
		"\ufeffmark":                `"\ufeffmark"`,
		" blank":                    `" blank"`,
		"blank ":                    `"blank "`,
		"no\u00a0break":             `"no\u00a0break"`,
		"<script>alert(1)</script>": "<script>alert(1)</script>", // the template escapes it
	} {
		require.Equal(t, want, showText(key).text)
		require.Zero(t, showText(key).length)
	}
}

// TestLongKeys checks that a key is cut between two runes, and its length is
// added.
func TestLongKeys(t *testing.T) {
	require.Equal(t, shownKey{strings.Repeat("x", maxKeyBytes), 0}, showText(strings.Repeat("x", maxKeyBytes)))
	require.Equal(t, shownKey{strings.Repeat("x", maxKeyBytes), maxKeyBytes + 1}, showText(strings.Repeat("x", maxKeyBytes+1)))
	for shift := range 4 {
		key := strings.Repeat("x", shift) + strings.Repeat("🙂", 100)
		shown := showText(key)
		require.True(t, utf8.ValidString(shown.text))
		require.True(t, strings.HasPrefix(key, shown.text), shown.text)
		require.Greater(t, len(shown.text), maxKeyBytes-utf8.UTFMax)
		require.LessOrEqual(t, len(shown.text), maxKeyBytes)
		require.Equal(t, len(key), shown.length)
	}
	require.Equal(t, 1<<20, showText(strings.Repeat("\x80", 1<<20)).length, "which is not UTF-8")
	spaced := strings.Repeat("x", maxKeyBytes-1) + " "
	require.Equal(t, shownKey{spaced, maxKeyBytes + 1}, showText(spaced+"x"), "cut after a space")
	require.Equal(t, `"`+strings.Repeat(" ", maxKeyBytes)+`"`, showText(strings.Repeat(" ", 1000)).text)
	type pair struct{ a, b string }
	require.Equal(t, 2000+3, showItem(pair{strings.Repeat("a", 1000), strings.Repeat("b", 1000)}).length)
	require.Equal(t, "xxx… (1,048,576 bytes)", shownKey{"xxx", 1 << 20}.inWords())
}

// TestHugeKeysAreNotCopied checks that a key of a megabyte costs as much as a
// short one.
func TestHugeKeysAreNotCopied(t *testing.T) {
	var huge any = strings.Repeat("<", 1<<20)
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			showItem(huge)
		}
	})
	require.Less(t, result.AllocedBytesPerOp(), int64(4096))
}

// TestHostileKeysInAllForms checks that no key breaks out of its context.
func TestHostileKeysInAllForms(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{
		Name: `"><img src=x onerror=alert(1)>`, Metrics: true, Group: func(item string) string { return item },
	})
	for _, key := range []string{"<script>alert(1)</script>", `"onmouseover="alert(2)`, "</bdi></table>", "\xff\xfe", "a\u202eb", "l1\nl2", strings.Repeat("k", 1<<20)} {
		q.Add(key)
		take(t, q)
		q.Add(key)
		q.AddRateLimited(key)
	}
	h := Handler(q)
	body := get(t, h, "")
	for _, bad := range []string{"<script>alert", "<img", `"onmouseover`, "</bdi></table>", "\xff", "\u202e", "l1\nl2"} {
		require.NotContains(t, body, bad)
	}
	require.Contains(t, body, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.Contains(t, body, "… 1,048,576 bytes")
	require.Less(t, len(body), 200_000)
	text := get(t, h, "?format=text")
	require.Contains(t, text, `"l1\nl2"`)
	require.NotContains(t, text, "\xff")
	require.True(t, utf8.ValidString(text))
	report := getReport(t, h, "")
	require.Len(t, report.Queues[0].Detail.Processing, 7)
	require.Less(t, len(get(t, h, "?format=json")), 50_000)
}

// TestPanickingMethods checks that the page shows a placeholder in place of the
// key.
func TestPanickingMethods(t *testing.T) {
	q := shardq.MustNew(shardq.Options[awkward]{})
	q.Add(awkward{4711})
	require.Contains(t, get(t, Handler(q), ""), "(its String method panicked)")

	h := must(t, Options{
		Queues:    []shardq.Inspector{q},
		RedactKey: func(string, any) string { panic("secret") },
	})
	body := get(t, h, "")
	require.Contains(t, body, "(redacting it panicked)")
	require.NotContains(t, body, "4711")
	require.NotContains(t, body, "secret")
	q.Add(awkward{1}) // nothing is locked
	take(t, q)
}

func TestRedaction(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{
		Name: "mails", Metrics: true, Shards: 1, Group: func(item string) string { return "secret group" },
	})
	for _, item := range []string{"secret 1", "secret 2", "secret 3"} {
		q.Add(item)
		q.AddRateLimited(item)
	}
	take(t, q)
	h := must(t, Options{
		Queues:      []shardq.Inspector{q},
		RedactKey:   func(queue string, item any) string { return queue + " " + strings.Repeat("*", len(item.(string))) },
		RedactGroup: func(queue, group string) string { return "<" + queue + ">" },
	})
	for _, format := range []string{asHTML, asJSON, asText} {
		body := get(t, h, "?format="+format)
		require.NotContains(t, body, "secret", format)
		require.Contains(t, body, "mails ********", format)
	}
	require.Equal(t, "<mails>", getReport(t, h, "").Queues[0].Detail.Groups[0].Group)
	require.Equal(t, 3, len(getReport(t, h, "").Queues[0].Detail.Retried))
}

// TestLongGroups checks that the length of a cut name is outside the name,
// whose text may have another direction.
func TestLongGroups(t *testing.T) {
	long := strings.Repeat("ש", 500)
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Shards: 1, Group: func(string) string { return long }})
	q.Add("item")
	cut := strings.Repeat("ש", 100)
	h := Handler(q)
	d := getReport(t, h, "").Queues[0].Detail
	require.Equal(t, cut, d.Groups[0].Group)
	require.Equal(t, 1000, d.Groups[0].GroupLength)
	require.Equal(t, cut, d.Ready[0].Group)
	require.Equal(t, 1000, d.Ready[0].GroupLength)
	body := strings.ReplaceAll(get(t, h, ""), "</a>", "")
	require.Equal(t, 2, strings.Count(body, "<bdi>"+cut+"</bdi><small>… 1,000 bytes</small>"))
	require.Equal(t, 2, strings.Count(get(t, h, "?format=text"), cut+"… (1,000 bytes)"))
}
