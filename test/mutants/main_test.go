package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A patch that does not apply proves nothing. A change of the code that a
// mistake lies in renews the patch.
func TestPatchesApply(t *testing.T) {
	mutants, err := readMutants("patches", "")
	require.NoError(t, err)
	// git reads the files, so the test reads their times, or an old result would be cached.
	require.NoError(t, filepath.WalkDir("../..", func(string, fs.DirEntry, error) error { return nil }))
	for _, m := range mutants {
		assert.NoError(t, m.apply("../..", "--check"))
	}
}

const sample = `package sample

func (s *set) String() string { return join(s.a < s.b) }

func (s *set) step(most int) (n int) {
	if n = min(most, s.left-1); n > 0 && !s.closed {
		s.owes |= wake
		s.show(s.first, most)
		panic(text(n < 1))
	}
	for i := 0; i <= n; i++ {
		switch {
		case s.full():
			continue
		}
		if s.left == 0 {
			return !s.closed
		}
		defer s.unlock()
	}
	return n
}
`

func TestOperators(t *testing.T) {
	places, err := placesOf("sample.go", sample)
	require.NoError(t, err)
	var found []string
	for _, p := range places {
		found = append(found, p.String())
		_, err := parser.ParseFile(token.NewFileSet(), "", p.planted(0, len(sample)), 0)
		assert.NoError(t, err, p)
	}
	head := "`if n = min(most, s.left-1); n > 0 && !s.closed {`"
	assert.ElementsMatch(t, []string{
		"0 sample.go:6 early return: " + head + " → `return; if n = min(most, s.left-1); n > 0 && !s.closed {`",
		"0 sample.go:6 negated condition: " + head + " → `if n = min(most, s.left-1); !(n > 0 && !s.closed) {`",
		"0 sample.go:6 removed statement: " + head + " → `if ; n > 0 && !s.closed {`",
		"0 sample.go:6 min for max: " + head + " → `if n = max(most, s.left-1); n > 0 && !s.closed {`",
		"0 sample.go:6 dropped 1: " + head + " → `if n = min(most, s.left); n > 0 && !s.closed {`",
		"0 sample.go:6 edge: " + head + " → `if n = min(most, s.left-1); n >= 0 && !s.closed {`",
		"0 sample.go:6 and for or: " + head + " → `if n = min(most, s.left-1); n > 0 || !s.closed {`",
		"0 sample.go:6 negated condition: " + head + " → `if n = min(most, s.left-1); n > 0 && s.closed {`",
		"0 sample.go:7 removed statement: `s.owes |= wake` → ``",
		"0 sample.go:7 plain assignment: `s.owes |= wake` → `s.owes = wake`",
		"0 sample.go:8 removed statement: `s.show(s.first, most)` → ``",
		"0 sample.go:8 swapped arguments: `s.show(s.first, most)` → `s.show(most, s.first)`",
		"0 sample.go:11 early return: `for i := 0; i <= n; i++ {` → `return; for i := 0; i <= n; i++ {`",
		"0 sample.go:11 edge: `for i := 0; i <= n; i++ {` → `for i := 0; i < n; i++ {`",
		"0 sample.go:13 negated condition: `case s.full():` → `case !(s.full()):`",
		"0 sample.go:14 break for continue: `continue` → `break`",
		"0 sample.go:16 removed guard: `if s.left == 0 { return !s.closed }` → `{}`",
		"0 sample.go:16 negated condition: `if s.left == 0 {` → `if s.left != 0 {`",
		"0 sample.go:17 negated condition: `return !s.closed` → `return s.closed`",
		"0 sample.go:19 removed statement: `defer s.unlock()` → ``",
	}, found)
}

// A function with several mistakes has a copy of its body for each.
func TestRewrite(t *testing.T) {
	places, err := placesOf("sample.go", sample)
	require.NoError(t, err)
	l := &lot{path: "example.com/m"}
	text := l.rewrite(places[:3])
	_, err = parser.ParseFile(token.NewFileSet(), "", text, 0)
	require.NoError(t, err, text)
	assert.Equal(t, 4, strings.Count(text, "defer s.unlock()"))
}
