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

// selects matches the flags of go test that select functions, with the pattern.
var selects = regexp.MustCompile(`-(?:test\.)?(run|bench|fuzz) +('[^']*'|[^\s` + "`" + `]+)`)

// kinds are the beginnings of the functions that a flag selects.
var kinds = map[string]string{"run": "(Test|Example|Fuzz)", "bench": "Benchmark", "fuzz": "Fuzz"}

// TestCommandsSelectFunctions: each command in a document that selects tests,
// benchmarks or fuzz targets selects some, with each alternative of its
// pattern. A pattern that ends in the number of a clause selects no other
// clause whose number begins with it.
func TestCommandsSelectFunctions(t *testing.T) {
	functions := declarations(t)
	checked := 0
	for _, d := range documents(t) {
		if path.Dir(d.path) == "docs/internals/decisions" {
			continue // their commands belong to their dates
		}
		for _, command := range d.commands() {
			if strings.Contains(command, "go run") || strings.Contains(command, "NAME") {
				continue
			}
			for _, match := range selects.FindAllStringSubmatch(command, -1) {
				pattern := strings.ReplaceAll(strings.Trim(match[2], "'"), `\|`, "|")
				pattern, _, _ = strings.Cut(pattern, "/")
				if pattern == "^$" {
					continue
				}
				checked++
				for _, one := range alternatives(pattern) {
					names := matches(t, functions, kinds[match[1]], one, packages(command))
					assert.NotEmpty(t, names, "%s: no function matches %s of: %s", d.path, one, command)
					for _, name := range names {
						assert.False(t, cutsNumber(one, name), "%s: %s of: %s selects %s, too", d.path, one, command, name)
					}
				}
			}
		}
	}
	require.NotZero(t, checked)
}

// commands returns the lines of code blocks and the code spans.
func (d document) commands() (all []string) {
	for _, match := range fence.FindAllStringSubmatch(d.text, -1) {
		all = append(all, strings.Split(match[2], "\n")...)
	}
	for _, match := range codeSpan.FindAllStringSubmatch(d.prose(), -1) {
		all = append(all, match[1])
	}
	for line := range strings.Lines(d.prose()) {
		if strings.HasPrefix(line, "    ") {
			all = append(all, line)
		}
	}
	return all
}

// alternatives splits a pattern, unless it has parentheses.
func alternatives(pattern string) []string {
	if strings.Contains(pattern, "(") {
		return []string{pattern}
	}
	return strings.Split(pattern, "|")
}

// packages returns what a command tests, as patterns of directories.
func packages(command string) (all []string) {
	within := ""
	fields := strings.Fields(command)
	for i, field := range fields {
		if field == "-C" && i+1 < len(fields) {
			within = fields[i+1]
		}
	}
	for _, field := range fields {
		if field == "." || strings.HasPrefix(field, "./") {
			all = append(all, path.Join(within, field))
		}
	}
	if len(all) == 0 {
		all = append(all, path.Join(within, "..."))
	}
	return all
}

// A declared function is a test or the like, with its directory.
type declaredFunction struct{ directory, name string }

func declarations(t *testing.T) (all []declaredFunction) {
	t.Helper()
	for file, text := range read(t, func(file string) bool { return strings.HasSuffix(file, "_test.go") }) {
		for _, match := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`).FindAllStringSubmatch(text, -1) {
			all = append(all, declaredFunction{path.Dir(file), match[1]})
		}
	}
	return all
}

// matches returns the names of the functions that a pattern selects.
func matches(t *testing.T, functions []declaredFunction, kind, pattern string, directories []string) (names []string) {
	t.Helper()
	name, err := regexp.Compile(pattern)
	require.NoError(t, err)
	begins := regexp.MustCompile("^" + kind)
	for _, f := range functions {
		for _, directory := range directories {
			parent, below := strings.CutSuffix(directory, "...")
			in := f.directory == directory || below && strings.HasPrefix(f.directory+"/", strings.TrimPrefix(parent, "./"))
			if in && begins.MatchString(f.name) && name.MatchString(f.name) {
				names = append(names, f.name)
			}
		}
	}
	return names
}

// cutsNumber reports whether a pattern matches a name only up to the middle of
// a number, as C5 matches TestC52.
func cutsNumber(pattern, name string) bool {
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	matched := regexp.MustCompile(pattern).FindAllStringIndex(name, -1)
	return !slices.ContainsFunc(matched, func(at []int) bool {
		end := at[1]
		return end == 0 || end == len(name) || !isDigit(name[end-1]) || !isDigit(name[end])
	})
}

func TestCutsNumber(t *testing.T) {
	for _, pattern := range []string{"C5", "TestC5", "C[15]"} {
		assert.True(t, cutsNumber(pattern, "TestC52Resize"), pattern)
	}
	for _, pattern := range []string{"C52", "C5[^0-9]|C52", "C5[0-2]", "C", "Resize"} {
		assert.False(t, cutsNumber(pattern, "TestC52Resize"), pattern)
	}
	assert.False(t, cutsNumber("C5", "TestC5C52"))
}
