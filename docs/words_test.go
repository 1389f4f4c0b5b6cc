package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forbidden is what no document may have.
var forbidden = map[string]*regexp.Regexp{
	"what is unfinished":          regexp.MustCompile(`\b(TODO|FIXME|XXX|TBD)\b|@@\w+@@|(?i:lorem ipsum)`),
	"a place on one's own disk":   regexp.MustCompile("(?m)(?:^|[\\s`\"'(=])/(?:home|root|Users|mnt|work|media|srv)/"),
	"a host of one's own":         regexp.MustCompile(`\b(localhost|127\.0\.0\.1|\w+\.(local|internal|corp|lan))\b`),
	"praise":                      regexp.MustCompile(`(?i)\b(blazing|lightning.fast|world.class|cutting.edge|seamless(ly)?|effortless(ly)?|state.of.the.art|battle.tested|best.in.class)\b`),
	"pictures instead of words":   regexp.MustCompile(`[\x{1F300}-\x{1FAFF}\x{2600}-\x{26FF}\x{2705}\x{274C}\x{2B50}\x{2764}]`),
	"blanks at the end of a line": regexp.MustCompile(`(?m)[ \t]+$`),
}

// listens is the address on which the documents have examples listen.
const listens = "127.0.0.1:6060"

func TestForbiddenWords(t *testing.T) {
	for _, d := range documents(t) {
		text := strings.ReplaceAll(d.text, listens, "here")
		for what, pattern := range forbidden {
			assert.Empty(t, pattern.FindAllString(text, -1), "%s has %s", d.path, what)
		}
	}
}

var comment = regexp.MustCompile(`(?m)^\s*#.*$`)

// TestTheGateRunsTheCommandsOfTheREADME: the gate runs the commands of the
// README, word by word.
func TestTheGateRunsTheCommandsOfTheREADME(t *testing.T) {
	gate, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	require.NoError(t, err)
	blocks := find(t, "README.md").blocks("sh")
	require.Len(t, blocks, 1, "the block with the two commands")
	commands := strings.Split(strings.TrimSpace(blocks[0]), "\n")
	require.Len(t, commands, 2)
	for _, command := range commands {
		assert.True(t, strings.Contains(comment.ReplaceAllString(string(gate), ""), command),
			"no step of .ci/run says: %s", command)
	}
}

// TestREADMEHasItsHeadline: the figures stand between two marks, and name their
// document.
func TestREADMEHasItsHeadline(t *testing.T) {
	between := regexp.MustCompile(`(?s)<!-- headline:begin -->\n(.+)\n<!-- headline:end -->`)
	headline := between.FindStringSubmatch(find(t, "README.md").text)
	require.NotNil(t, headline)
	require.Contains(t, headline[1], "docs/reference/benchmarks.md", "the figures say where they come from")
}
