package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clauses and cases are their numbers in docs/reference/semantics.md, without
// those that promise what does not exist yet.
const (
	clauses = 60
	cases   = 25
)

var promised []string // those that have no tests yet

var (
	testName     = regexp.MustCompile(`^(Test|Fuzz|Example)[A-Z]\w*$`)
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
)

// TestClausesNameTheirTests: each clause, and each case, has a row in
// docs/reference/semantics.md that names a test.
func TestClausesNameTheirTests(t *testing.T) {
	semantics := find(t, "docs/reference/semantics.md")
	for _, group := range []struct {
		letter string
		count  int
	}{{"C", clauses}, {"H", cases}} {
		for n := 1; n <= group.count; n++ {
			number := fmt.Sprintf("%s%d", group.letter, n)
			if slices.Contains(promised, number) {
				continue
			}
			row := regexp.MustCompile(`(?m)^\| ` + number + ` .*$`).FindString(semantics.text)
			assert.NotEmpty(t, document{text: row}.spans(testName), "the tests of %s", number)
		}
	}
}

// TestNamedTestsExist: no document names a test that is not there.
func TestNamedTestsExist(t *testing.T) {
	exists := declared(t, testFunction, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	for _, d := range documents(t) {
		for _, name := range d.spans(testName) {
			assert.True(t, exists[name], "%s names %s", d.path, name)
		}
	}
}

// TestTestsAreOfKnownClauses: the number of a clause or a case in the name of a
// test is a number that docs/reference/semantics.md has.
func TestTestsAreOfKnownClauses(t *testing.T) {
	semantics := find(t, "docs/reference/semantics.md")
	numbered := regexp.MustCompile(`^Test((?:[CH]\d+)+)`)
	for name := range declared(t, testFunction, func(path string) bool { return strings.HasSuffix(path, "_test.go") }) {
		match := numbered.FindStringSubmatch(name)
		if match == nil {
			continue
		}
		for _, number := range regexp.MustCompile(`[CH]\d+`).FindAllString(match[1], -1) {
			assert.Contains(t, semantics.text, "\n| "+number+" ", "%s", name)
		}
	}
}

// TestNamedFunctionsExist: a code span such as settle() names a function of the
// library.
func TestNamedFunctionsExist(t *testing.T) {
	call := regexp.MustCompile(`^[a-z]\w*\(\)$`)
	function := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?([a-z]\w*)[[(]`)
	exists := declared(t, function, isLibrary)
	named := find(t, "docs/internals/design.md").spans(call)
	require.NotEmpty(t, named)
	for _, name := range named {
		assert.True(t, exists[strings.TrimSuffix(name, "()")], "docs/internals/design.md names %s", name)
	}
}

// TestConstantsAgree: a code span such as quantum = 8 repeats a constant of the
// library.
func TestConstantsAgree(t *testing.T) {
	equation := regexp.MustCompile(`^[A-Za-z]\w* = \w+$`)
	constant := regexp.MustCompile(`(?m)^\s*(?:const )?(\w+\s+= [\w <]+?)(?:\s*//.*)?$`)
	agrees := declared(t, constant, isLibrary)
	compared := 0
	for _, d := range documents(t) {
		for _, equation := range d.spans(equation) {
			compared++
			assert.True(t, agrees[equation] || agrees[shifted[equation]], "%s says %s", d.path, equation)
		}
	}
	require.NotZero(t, compared)
}

// shifted has the constants that the code does not spell out.
var shifted = map[string]string{"ChunkCells = 512": "ChunkCells = 1 << chunkBits"}

// isLibrary reports whether a file is code of the library itself.
func isLibrary(path string) bool {
	return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") &&
		!strings.HasPrefix(path, "bench/") && !strings.HasPrefix(path, "examples/") && !strings.HasPrefix(path, "stress/") && !strings.HasPrefix(path, "test/")
}

// declared returns what a pattern's group finds in the files that are wanted,
// with runs of blanks made one.
func declared(t *testing.T, pattern *regexp.Regexp, wanted func(path string) bool) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, text := range read(t, wanted) {
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			found[strings.Join(strings.Fields(match[1]), " ")] = true
		}
	}
	require.NotEmpty(t, found)
	return found
}
