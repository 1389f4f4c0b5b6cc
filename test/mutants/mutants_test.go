package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

func allMutants(t *testing.T) []mutant {
	t.Helper()
	mutants, err := readMutants(filepath.Join(root, patches), regexp.MustCompile(""))
	require.NoError(t, err)
	require.Greater(t, len(mutants), 30)
	return mutants
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

// TestMutantsApply: a change of code that a mutant lies in renews the mutant.
func TestMutantsApply(t *testing.T) {
	needGit(t)
	directory, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, m := range allMutants(t) {
		file, err := filepath.Abs(m.file)
		require.NoError(t, err)
		assert.NoError(t, tree{directory}.git("apply", "--check", file), "test/mutants/patches/%s.patch", m.name)
	}
}

// TestMutantsNameTestsThatExist: the package that a header names has the tests
// that it names.
func TestMutantsNameTestsThatExist(t *testing.T) {
	source := map[string]string{}
	for _, m := range allMutants(t) {
		if source[m.check.pkg] == "" {
			source[m.check.pkg] = testsOf(t, m.check.pkg)
		}
		for _, test := range m.check.tests {
			there := strings.Contains(source[m.check.pkg], "\nfunc "+test+"(")
			assert.True(t, there, "%s: %s has no %s", m.name, m.check.pkg, test)
		}
	}
}

func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

// TestMutantsBreakKnownClauses: docs/reference/semantics.md has a row for each
// clause.
func TestMutantsBreakKnownClauses(t *testing.T) {
	semantics, err := os.ReadFile(filepath.Join(root, "docs", "reference", "semantics.md"))
	require.NoError(t, err)
	for _, m := range allMutants(t) {
		for _, clause := range m.clauses {
			there := strings.Contains(string(semantics), "\n| "+clause+" ")
			assert.True(t, there, "%s: docs/reference/semantics.md has no %s", m.name, clause)
		}
	}
}

// TestMutantsLeaveTestsAlone: a mistake in a test proves nothing.
func TestMutantsLeaveTestsAlone(t *testing.T) {
	for _, m := range allMutants(t) {
		patch, err := os.ReadFile(m.file)
		require.NoError(t, err)
		assert.False(t, strings.Contains(string(patch), "_test.go"), "%s changes a test", m.name)
	}
}

// TestHeaders: readMutant reports each fault of a header.
func TestHeaders(t *testing.T) {
	const patch = "\ndiff --git a/shard/get.go b/shard/get.go\n--- a/shard/get.go\n+++ b/shard/get.go\n"
	for text, want := range map[string]string{
		"Mistake: A\n  and b.\nBreaks: C1 C23\nKilled by: -race ./shard TestA TestB\n" + patch: "",
		"Mistake: A.\nBreaks: C1\nKilled by: ./test/contract TestA\n":                          "diff --git",
		"Breaks: C1\nKilled by: ./test/contract TestA\n" + patch:                               "Mistake:",
		"Mistake: A.\nKilled by: ./test/contract TestA\n" + patch:                              "Breaks:",
		"Mistake: A.\nBreaks: C1\n" + patch:                                                    "names no package",
		"Mistake: A.\nBreaks: C1\nKilled by: ./shard\n" + patch:                                "names no package, or no test",
		"Mistake: A.\nBreaks: D1\nKilled by: ./test/contract TestA\n" + patch:                  `"D1" is no clause`,
		"Mistake: A.\nBreaks: C1\nKilled by: . -v\n" + patch:                                   `"-v" is no test`,
		"Mistake: A.\nBreaks: C1\nKilled by: ./test/contract TestA\nFixed by: B\n" + patch:     "4 fields",
	} {
		file := filepath.Join(t.TempDir(), "01-name.patch")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		m, err := readMutant(file)
		if want != "" {
			assert.ErrorContains(t, err, want, "%s", text)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, mutant{
			name: "01-name", file: file, mistake: "A and b.", clauses: []string{"C1", "C23"},
			check: check{race: true, pkg: "./shard", tests: []string{"TestA", "TestB"}}, packages: []string{"./shard"},
		}, m)
	}
}

// TestTitlesDiffer: documents name a mutant without its number.
func TestTitlesDiffer(t *testing.T) {
	named := map[string]string{}
	for _, m := range allMutants(t) {
		assert.Empty(t, named[m.title()], "has the title of %s", m.name)
		named[m.title()] = m.name
	}
}

// TestOrder: readMutants returns mutants in the order of their numbers, which
// may have any length.
func TestOrder(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"02-b", "10-c", "100-d", "11-a"} {
		text := "Mistake: A.\nBreaks: C1\nKilled by: ./test/contract TestA\n\ndiff --git a/a.go b/a.go\n+++ b/a.go\n"
		require.NoError(t, os.WriteFile(filepath.Join(directory, name+".patch"), []byte(text), 0o600))
	}
	mutants, err := readMutants(directory, regexp.MustCompile(""))
	require.NoError(t, err)
	var titles []string
	for _, m := range mutants {
		titles = append(titles, m.title())
	}
	assert.Equal(t, []string{"b", "c", "a", "d"}, titles)
}

// TestTimes: the time of a test excludes compiling, and is known of a test that
// hangs.
func TestTimes(t *testing.T) {
	var events strings.Builder
	for _, e := range []struct{ second, action, test string }{
		{"05", "start", ""},
		{"06", "run", "TestA"}, {"07", "run", "TestA/sub"}, {"08", "fail", "TestA/sub"}, {"09", "fail", "TestA"},
		{"20", "run", "TestB"}, {"50", "output", "TestB"},
		{"51", "fail", ""},
	} {
		fmt.Fprintf(&events, `{"Time":"2026-01-01T00:00:%sZ","Action":%q,"Test":%q}`+"\n", e.second, e.action, e.test)
	}
	r := readEvents([]byte(events.String()))
	assert.Equal(t, 46*time.Second, r.took)
	assert.Equal(t, times{"TestA": 3 * time.Second, "TestB": 30 * time.Second}, timesOf([]report{r}))
	killed := mutant{}.killed("", false, r.failed())
	assert.Equal(t, []string{"TestA", "TestB"}, killed.tests)
	assert.Equal(t, 3*time.Second, killed.own)
}

// TestReasons: reason returns the line of a test's output that says why the
// test failed.
func TestReasons(t *testing.T) {
	for output, want := range map[string]string{
		"=== RUN   TestA\n    a_test.go:12: 3 items are lost\n--- FAIL: TestA\n":                         "3 items are lost",
		"=== RUN   TestA\n--- FAIL: TestA\npanic: deadlock: all are blocked [recovered, repanicked]\n\n": "deadlock: all are blocked",
		"    a_test.go:12: \n\tError Trace:\ta_test.go:12\n\tError:      \tNot equal: \n":                "Not equal:",
		"    a_test.go:9: [rapid] failed after 3 tests: Len is 4\n":                                      "failed after 3 tests: Len is 4",
		"==================\nWARNING: DATA RACE\nRead at 0x0\n":                                          "WARNING: DATA RACE",
		"nothing of the kind\n": "nothing of the kind",
	} {
		assert.Equal(t, want, (&verdict{output: output}).reason())
	}
}

// TestParts: each mutant is in exactly one part.
func TestParts(t *testing.T) {
	all := make([]mutant, 10)
	for i := range all {
		all[i].name = fmt.Sprint(i)
	}
	seen := map[string]int{}
	for k := 1; k <= 3; k++ {
		var p part
		require.NoError(t, p.Set(fmt.Sprintf("%d/3", k)))
		for _, m := range p.of(all) {
			seen[m.name]++
		}
	}
	require.Len(t, seen, 10)
	for name, times := range seen {
		require.Equal(t, 1, times, name)
	}
	require.Len(t, part{}.of(all), 10)
	for _, wrong := range []string{"", "3", "0/3", "4/3", "1/0", "1/3x", "a/b", "-1/3"} {
		require.Error(t, new(part).Set(wrong), wrong)
	}
}
