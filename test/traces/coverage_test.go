package traces

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryPromiseIsShown checks that each promise of
// docs/reference/semantics.md is the tag of a scenario, or is in README.md with
// the reason why no scenario can show it.
func TestEveryPromiseIsShown(t *testing.T) {
	shown, excused := shownPromises(t), excuses(t)
	for _, promise := range promises(t) {
		_, excuse := excused[promise]
		assert.True(t, shown[promise] || excuse, "no scenario shows %s, and README.md does not say why", promise)
		assert.False(t, shown[promise] && excuse, "README.md says that no scenario can show %s, but one does", promise)
	}
}

// TestTagsAreOfPromises checks that each tag and each excuse names a promise of
// docs/reference/semantics.md.
func TestTagsAreOfPromises(t *testing.T) {
	known := promises(t)
	for tag := range shownPromises(t) {
		assert.Contains(t, known, tag, "the tag of a scenario")
	}
	for tag := range excuses(t) {
		assert.Contains(t, known, tag, "a row of README.md")
	}
}

// TestExcusesNameTests checks that each excuse names the tests that take the
// place of a scenario, unless the promise is that something does not exist.
func TestExcusesNameTests(t *testing.T) {
	exists := testNames(t)
	for promise, row := range excuses(t) {
		named := testName.FindAllString(row, -1)
		assert.True(t, len(named) > 0 || strings.Contains(row, "does not exist"), "%s names no test", promise)
		for _, name := range named {
			assert.True(t, exists[name], "%s names %s", promise, name)
		}
	}
}

var (
	testName     = regexp.MustCompile(`\b(?:Test|Fuzz|Example)[A-Z]\w*`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)[A-Z]\w*)\(`)
)

// shownPromises returns the tags of all scenarios.
func shownPromises(t *testing.T) map[string]bool {
	t.Helper()
	shown := map[string]bool{}
	for _, f := range readAll(t) {
		for _, s := range f.scenarios {
			for _, tag := range s.tags {
				shown[tag] = true
			}
		}
	}
	return shown
}

var excuseRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+ \| [^|]+) \|$`)

// excuses returns the rows of the table in README.md by their promises.
func excuses(t *testing.T) map[string]string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(readme), "## What no trace can show")
	require.True(t, ok)
	rows := map[string]string{}
	for _, match := range excuseRow.FindAllStringSubmatch(table, -1) {
		if match[1] != "what" {
			rows[strings.ReplaceAll(match[1], "`", "")] = match[2]
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

// These patterns match the promises in the sections of
// docs/reference/semantics.md.
var (
	row        = regexp.MustCompile(`^\| (.*?) \|`)
	clause     = regexp.MustCompile(`^[CH]\d+`)
	codeSpan   = regexp.MustCompile("`([A-Za-z]+)")
	difference = regexp.MustCompile(`^(\d+)\. \*\*`)
	remark     = regexp.MustCompile(`^\*\*(.+?)\.?\*\*`)
)

// promises returns a name for each promise. It is the number of a clause, a
// case, or a difference, a method, a field of Stats, or the title of a remark
// or of the section about order.
func promises(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "semantics.md"))
	require.NoError(t, err)
	var all []string
	section := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		all = append(all, promisesIn(section, line)...)
	}
	require.Greater(t, len(all), 100)
	return all
}

func promisesIn(section, line string) []string {
	cell := ""
	if match := row.FindStringSubmatch(line); match != nil {
		cell = match[1]
	}
	switch {
	case line == "## Order across shards":
		return []string{`"Order across shards"`}
	case section == "Deliberate differences":
		return firsts("Difference ", difference.FindAllStringSubmatch(line, 1), "")
	case section == "Fine print":
		return firsts(`"`, remark.FindAllStringSubmatch(strings.ReplaceAll(line, "`", ""), 1), `"`)
	case section == "A. Interface":
		return firsts("", codeSpan.FindAllStringSubmatch(cell, -1), "")
	case section == "G. Metrics":
		fields := firsts("Stats.", codeSpan.FindAllStringSubmatch(strings.TrimSuffix(cell, "`Stats` field"), -1), "")
		return append(fields, clause.FindAllString(cell, 1)...)
	}
	return clause.FindAllString(cell, 1)
}

// firsts returns the first groups of the matches, each between two texts.
func firsts(before string, matches [][]string, after string) []string {
	var all []string
	for _, match := range matches {
		all = append(all, before+match[1]+after)
	}
	return all
}

// testNames returns the names of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	return names
}
