package docs_test

import (
	"path"
	"regexp"
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
// pattern.
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
					assert.True(t, matches(t, functions, kinds[match[1]], one, packages(command)),
						"%s: no function matches %s of: %s", d.path, one, command)
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

func matches(t *testing.T, functions []declaredFunction, kind, pattern string, directories []string) bool {
	t.Helper()
	name, err := regexp.Compile(pattern)
	require.NoError(t, err)
	begins := regexp.MustCompile("^" + kind)
	for _, f := range functions {
		for _, directory := range directories {
			parent, below := strings.CutSuffix(directory, "...")
			in := f.directory == directory || below && strings.HasPrefix(f.directory+"/", strings.TrimPrefix(parent, "./"))
			if in && begins.MatchString(f.name) && name.MatchString(f.name) {
				return true
			}
		}
	}
	return false
}
