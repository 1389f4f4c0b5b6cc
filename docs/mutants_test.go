package docs_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	mutantName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	killedBy   = regexp.MustCompile(`(?m)^Killed by: (.*)$`)
)

// mutants returns the tests that must kill each mutant, by its name without its
// number.
func mutants(t *testing.T) map[string][]string {
	t.Helper()
	killers := map[string][]string{}
	for file, text := range read(t, func(path string) bool { return strings.HasPrefix(path, "test/mutants/patches/") }) {
		_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".patch"), "-")
		header := killedBy.FindStringSubmatch(text)
		require.NotNil(t, header, "%s does not say which tests kill it", file)
		for word := range strings.FieldsSeq(header[1]) {
			if testName.MatchString(word) {
				killers[name] = append(killers[name], word)
			}
		}
	}
	require.NotEmpty(t, killers)
	return killers
}

// TestBugsOfOthersArePlanted: each bug in docs/internals/reliability.md names
// mutants that exist, and one or more of the tests that kill each of them.
func TestBugsOfOthersArePlanted(t *testing.T) {
	killers := mutants(t)
	rows := tableRows(between(t, "\n## Bugs that others had\n", "\n## "))
	require.NotEmpty(t, rows)
	for _, row := range rows {
		named := document{text: row}.spans(mutantName)
		assert.NotEmpty(t, named, "no mutant plants this bug: %s", row)
		tests := document{text: row}.spans(testName)
		for _, name := range named {
			assert.NotEmpty(t, killers[name], "there is no mutant %s", name)
			assert.True(t, haveInCommon(killers[name], tests), "%s is killed by %v, not by %v", name, killers[name], tests)
		}
	}
}

// TestMutantsNamedExist: docs/internals/reliability.md names no mutant that is
// not there.
func TestMutantsNamedExist(t *testing.T) {
	killers := mutants(t)
	for _, name := range find(t, "docs/internals/reliability.md").spans(mutantName) {
		assert.NotEmpty(t, killers[name], "there is no mutant %s", name)
	}
}

// TestEveryMutantHasItsResult: go run ./test/mutants -update wrote the results
// of all mutants.
func TestEveryMutantHasItsResult(t *testing.T) {
	rows := tableRows(between(t, "<!-- mutants -->", "<!-- /mutants -->"))
	require.NotEmpty(t, rows, "the block is empty: go run ./test/mutants -update docs/internals/reliability.md")
	shown := map[string]bool{}
	for _, row := range rows {
		name := strings.TrimSpace(strings.Split(row, "|")[2])
		assert.False(t, shown[name], "%s has two results", name)
		shown[name] = true
	}
	killers := mutants(t)
	for name := range killers {
		assert.True(t, shown[name], "%s has no result", name)
	}
	for name := range shown {
		assert.NotEmpty(t, killers[name], "there is no mutant %s any more", name)
	}
}

// between returns the part of docs/internals/reliability.md between two texts.
func between(t *testing.T, begin, end string) string {
	t.Helper()
	_, rest, begins := strings.Cut(find(t, "docs/internals/reliability.md").text, begin)
	text, _, ends := strings.Cut(rest, end)
	require.True(t, begins && ends, "docs/internals/reliability.md does not have %q, or %q behind it", begin, end)
	return text
}

// tableRows returns the rows of the tables in a text, without their heads.
func tableRows(text string) (rows []string) {
	inBody := false
	for line := range strings.Lines(text) {
		switch {
		case !strings.HasPrefix(line, "|"):
			inBody = false
		case strings.HasPrefix(line, "|--"):
			inBody = true
		case inBody:
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

func haveInCommon(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
