package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is a module whose only promise is that sum is a + b.
var small = map[string]string{
	"go.mod": "module small\n\ngo 1.26\n",
	"sum.go": "package small\n\nfunc sum(a, b int) int {\n\treturn a + b\n}\n",
	"sum_test.go": "package small\n\nimport \"testing\"\n\n" +
		"func TestOne(t *testing.T) {\n\tif got := sum(1, 0); got != 1 {\n\t\tt.Errorf(\"sum is %d\", got)\n\t}\n}\n\n" +
		"func TestTwo(t *testing.T) {\n\tif got := sum(1, 1); got != 2 {\n\t\tt.Errorf(\"sum is %d\", got)\n\t}\n}\n",
	"stress/main.go": "package main\n\nfunc main() {}\n",
	// The tests that a mutant meets if its own check does not kill it.
	"test/contract/contract_test.go": "package contract\n\nimport \"testing\"\n\nfunc TestPasses(t *testing.T) {}\n",
}

// smallTree returns a tree with the small module.
func smallTree(t *testing.T) tree {
	t.Helper()
	directory := t.TempDir()
	for name, text := range small {
		file := filepath.Join(directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return tree{directory}
}

// smallMutant returns a mutant that replaces the body of sum. Its check is
// TestOne.
func smallMutant(t *testing.T, name, old, body string) mutant {
	t.Helper()
	text := fmt.Sprintf("Mistake: %s.\nBreaks: C1\nKilled by: . TestOne\n\ndiff --git a/sum.go b/sum.go\n"+
		"--- a/sum.go\n+++ b/sum.go\n@@ -3,3 +3,3 @@\n func sum(a, b int) int {\n-\t%s\n+\t%s\n }\n", name, old, body)
	file := filepath.Join(t.TempDir(), name+".patch")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	m, err := readMutant(file)
	require.NoError(t, err)
	return m
}

// TestFates: tryOne returns each outcome that a mutant can have, and restores
// the tree.
func TestFates(t *testing.T) {
	needGit(t)
	if testing.Short() {
		t.Skip("runs the go command a dozen times")
	}
	const original = "return a + b"
	for _, test := range []struct {
		name, old, body string
		outcome         outcome
		wider           bool
		tests, reason   string
	}{
		{"killed by its check", original, "return a - b + 2", killedByCheck, false, "TestOne", "sum is 3"},
		{"killed by another", original, "return a - b", killedByCheck, true, "TestTwo", "sum is 0"},
		{"hangs", original, "select {}", killedByCheck, false, "TestOne", "test timed out after 1s"},
		{"survives", original, "return b + a", survived, false, "", ""},
		{"does not compile", original, "return a + c", atFault, false, "", "undefined: c"},
		{"does not apply", "return a * b", original, atFault, false, "", "patch does not apply"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			small, limit := smallTree(t), 5*time.Second
			if test.name == "hangs" {
				limit = time.Second
			}
			m := smallMutant(t, test.name, test.old, test.body)
			r := tryOne(options{limit: limit}, small, m, times{})
			assert.Equal(t, test.outcome, r.outcome)
			assert.Equal(t, test.wider, r.wider)
			assert.Equal(t, test.tests, strings.Join(r.tests, " "))
			assert.Contains(t, r.reason, test.reason)
			assert.Equal(t, test.outcome == killedByCheck, r.own > 0, "the test's own time is %v", r.own)
			source, err := os.ReadFile(filepath.Join(small.directory, "sum.go"))
			require.NoError(t, err)
			assert.Contains(t, string(source), original, "the tree is as it was")
		})
	}
}

// TestFailuresAreForgotten: restore removes the failures that rapid has
// recorded in any package, and keeps the corpora of fuzz targets.
func TestFailuresAreForgotten(t *testing.T) {
	needGit(t)
	small := smallTree(t)
	m := smallMutant(t, "any", "return a + b", "return a")
	require.NoError(t, small.apply(m))
	directories := map[string]bool{
		"testdata/rapid": false, "shard/testdata/rapid": false, "stress/harness/testdata/rapid": false,
		"testdata/fuzz": true, "rapid": true,
	}
	for directory := range directories {
		require.NoError(t, os.MkdirAll(filepath.Join(small.directory, directory, "TestA"), 0o755))
	}
	require.NoError(t, small.restore(m))
	for directory, there := range directories {
		_, err := os.Stat(filepath.Join(small.directory, directory))
		assert.Equal(t, there, err == nil, directory)
	}
}

// TestUnchangedFirst: tryUnchanged reports a test that fails without a mutant
// or does not exist.
func TestUnchangedFirst(t *testing.T) {
	needGit(t)
	trees := []tree{smallTree(t)}
	m := smallMutant(t, "any", "return a + b", "return a")
	_, err := tryUnchanged(options{limit: time.Minute}, trees, []mutant{m})
	require.NoError(t, err)

	m.check.tests = []string{"TestThree"}
	_, err = tryUnchanged(options{limit: time.Minute}, trees, []mutant{m})
	require.ErrorContains(t, err, ". has no TestThree")

	m.check.tests = []string{"TestTwo"}
	require.NoError(t, trees[0].apply(m))
	_, err = tryUnchanged(options{limit: time.Minute}, trees, []mutant{m})
	require.ErrorContains(t, err, "TestTwo fails: sum is 1")
}

// TestLimitsFollowTheMachine: the time limit of a check grows with the time
// that it takes without a mutant.
func TestLimitsFollowTheMachine(t *testing.T) {
	took := times{"TestA": 2 * time.Second, "TestB": time.Second}
	c := check{tests: []string{"TestA", "TestB"}}
	assert.Equal(t, 45*time.Second, took.limit(c, 30*time.Second))
}

// TestCopiesAreOfTheModule: copies have neither hidden files nor nested
// modules.
func TestCopiesAreOfTheModule(t *testing.T) {
	from := smallTree(t)
	for _, name := range []string{"nested/go.mod", "nested/a.go", ".git/config", ".hidden", "package/.hidden", "package/b.go"} {
		file := filepath.Join(from.directory, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(name), 0o600))
	}
	trees, err := copyTrees(from.directory, 2)
	defer removeTrees(trees)
	require.NoError(t, err)
	for _, to := range trees {
		for name, there := range map[string]bool{
			"go.mod": true, "stress/main.go": true, "package/b.go": true,
			"nested/a.go": false, ".git/config": false, ".hidden": false, "package/.hidden": false,
		} {
			_, err := os.Stat(filepath.Join(to.directory, name))
			assert.Equal(t, there, err == nil, "%s", name)
		}
	}
}

// TestRenew: renew replaces the table of a document and nothing else. It keeps
// the outcomes of mutants that were not tried, and takes the rest from the
// patches.
func TestRenew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.md")
	const other, old, gone = "| C9 | c | Old. | `TestC` | 9ms | 1.0s |\n", "| C9 | a | Old. | `TestOld` | 9ms | 1.0s |\n", "| C1 | gone | D. | `TestD` | 9ms | 1.0s |\n"
	require.NoError(t, os.WriteFile(file, []byte("before\n"+beginMark+gone+old+other+endMark+"\nafter\n"), 0o600))
	all := []mutant{
		{name: "01-a", clauses: []string{"C9", "C11"}, mistake: "A."},
		{name: "02-b", clauses: []string{"C10"}, mistake: "B."},
		{name: "03-c", clauses: []string{"C10"}, mistake: "C."},
		{name: "04-d", clauses: []string{"C10"}, mistake: "D."}, // never tried
	}
	results := []result{
		{mutant: all[1], outcome: survived},
		{mutant: all[0], outcome: killedByCheck,
			tests: []string{"TestA", "TestB"}, own: 20 * time.Millisecond, verdict: 1500 * time.Millisecond},
	}
	require.NoError(t, renew(file, all, results, time.Minute))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Regexp(t, `(?s)^before\n<!-- mutants -->\n\n2 of 3 killed, .* tried 2 in 1m0s.*\n`+
		`\| C9 C11 \| a \| A\. \| .TestA. .TestB. \| 20ms \| 1\.5s \|\n\| C10 \| b \| B\. \| SURVIVED \| – \| 0\.0s \|\n`+
		regexp.QuoteMeta("| C10 | c | C. | `TestC` | 9ms | 1.0s |\n")+`\n<!-- /mutants -->\nafter\n$`, string(text))

	require.NoError(t, os.WriteFile(file, []byte("no marks"), 0o600))
	require.ErrorContains(t, renew(file, all, results, time.Minute), "does not have the marks")
}
