package debugpage

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts returns the lines that are shown.
func texts(lines []highlight) (shown []string) {
	for _, line := range lines {
		if line.Key != "" {
			shown = append(shown, line.Title+" | "+line.Key+" | "+line.Text)
		}
	}
	return shown
}

// TestHighlights checks the lines of a narrow page: what is stuck, which group
// has the most ready items, and one error.
func TestHighlights(t *testing.T) {
	age := seconds(90)
	d := &detailReport{Processing: []item{{Key: "globex/1", AgeSeconds: &age}}, Groups: []group{{Group: "idle", Processing: 1}}}
	require.Empty(t, texts(d.highlights()))

	d.Processing = []item{{Key: "acme/1", AgeSeconds: &age, Stuck: true}, {Key: "globex/1", AgeSeconds: &age, Stuck: true}}
	d.Groups = []group{{Group: "globex", Ready: 3000, Share: 0.49}, {Group: "acme", Ready: 1}}
	d.Discards = []failedAttempt{{Key: "initech/1", AgeSeconds: 5, Error: "no such account"}}
	require.Equal(t, []string{
		"Stuck | acme/1 | for 1 m 30 s",
		"Largest group | globex | 3,000 ready, 49 % of all",
		"Last dead letter | initech/1 | 5.0 s ago: no such account",
	}, texts(d.highlights()))

	d.Failures = []failedAttempt{{Key: "hooli/1", KeyLength: 300, AgeSeconds: 60, Error: "timeout", ErrorLength: 400}}
	d.Groups[0].GroupLength, d.Processing[0].KeyLength = 300, 300
	require.Equal(t, []string{
		"Stuck | acme/1… | for 1 m 30 s",
		"Largest group | globex… | 3,000 ready, 49 % of all",
		"Last failure | hooli/1… | 1 m 00 s ago: timeout…",
	}, texts(d.highlights()))
}

// TestHighlightsOfThePage checks that the lines link to their sections, and
// that an empty one is hidden.
func TestHighlightsOfThePage(t *testing.T) {
	page := get(t, Handler(eventful(t)), "")
	lines := regexp.MustCompile(`(?s)<dl class="highlights">(.*?)</dl>`).FindStringSubmatch(page)[1]
	shown := regexp.MustCompile(`<div data-highlight="([^"]*)"( hidden)?>.*?<a href="#([^"]*)"><bdi>(.*?)</bdi></a> <bdi>(.*?)</bdi>`).FindAllStringSubmatch(lines, -1)
	for i, want := range [][]string{
		{"detail.processing", "", "detail.processing", "acme/1", "for 1 m 30 s"},
		{"detail.groups", "", "detail.groups", "globex", "3 ready, 100 % of all"},
		{"detail.failures", "", "detail.failures", "globex/1", "0 s ago: index out of range"},
		{"detail.discards", " hidden", "detail.discards", "", ""},
	} {
		require.Equal(t, want, shown[i][1:6])
		require.Contains(t, page, `<h2 id="`+want[0]+`"`)
	}
}
