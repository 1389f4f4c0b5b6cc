package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	testName = regexp.MustCompile(`^(Test|Fuzz|Example)[A-Z]\w*$`)
	function = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)
	// The flags of go test that select functions, and what these begin with.
	selects = map[string]string{"run": "Test|Example|Fuzz", "bench": "Benchmark", "fuzz": "Fuzz"}
)

// functions returns the names of tests and the like, by directory.
func functions(t *testing.T) map[string][]string {
	all := map[string][]string{}
	for file, text := range read(t, func(file string) bool { return strings.HasSuffix(file, "_test.go") }) {
		for _, match := range function.FindAllStringSubmatch(text, -1) {
			all[path.Dir(file)] = append(all[path.Dir(file)], match[1])
		}
	}
	require.NotEmpty(t, all)
	return all
}

// TestNamedTestsExist: no document names a test that is not there.
func TestNamedTestsExist(t *testing.T) {
	exists := map[string]bool{}
	for _, names := range functions(t) {
		for _, name := range names {
			exists[name] = true
		}
	}
	for _, d := range documents(t) {
		for _, name := range d.spans() {
			if testName.MatchString(name) {
				assert.True(t, exists[name], "%s names %s", d.path, name)
			}
		}
	}
}

// TestCommandsExist: the packages, targets of make, and functions that the commands in
// documents name exist.
func TestCommandsExist(t *testing.T) {
	checked, tests := 0, functions(t)
	for _, d := range documents(t) {
		for _, text := range d.commands() {
			words, where := split(text), d.path+": "+text
			switch {
			case len(words) < 2:
			case words[0] == "make":
				checkTargets(t, where, path.Dir(d.path), words[1:])
			case words[0] == "bash":
				assert.FileExists(t, filepath.Join(root, words[1]), where)
			case words[1] == "run" || words[1] == "test":
				c := parse(words[2:], "")
				if !c.hasPackages(t) { // then it is for the directory of the document
					c = parse(words[2:], path.Dir(d.path))
				}
				assert.True(t, c.hasPackages(t), "a package is not there: %s", where)
				if checked++; words[1] == "test" {
					c.checkFunctions(t, where, tests)
				}
			}
		}
	}
	require.NotZero(t, checked)
}

// checkTargets checks the targets of make, in the nearest Makefile.
func checkTargets(t *testing.T, where, directory string, words []string) {
	makefile, err := os.ReadFile(filepath.Join(root, directory, "Makefile"))
	if err != nil {
		makefile, err = os.ReadFile(filepath.Join(root, "Makefile"))
	}
	require.NoError(t, err)
	for _, word := range words {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			assert.Regexp(t, `(?m)^`+regexp.QuoteMeta(word)+`:`, string(makefile), "%s: no target %s", where, word)
		}
	}
}

// commands returns the commands of code blocks and code spans. Those of
// decision records belong to their dates.
func (d document) commands() (all []string) {
	if path.Dir(d.path) == "docs/internals/decisions" {
		return nil
	}
	lines := d.spans()
	for _, match := range fence.FindAllStringSubmatch(d.text, -1) {
		if match[1] == "" || match[1] == "sh" {
			lines = append(lines, strings.Split(match[2], "\n")...)
		}
	}
	for _, line := range lines {
		for strings.Contains(strings.SplitN(line, " ", 2)[0], "=") { // of environment variables
			_, line, _ = strings.Cut(line, " ")
		}
		line = regexp.MustCompile(` (#|&&|\|\|).*`).ReplaceAllString(line, "")
		if first, _, _ := strings.Cut(line, " "); slices.Contains([]string{"go", "make", "bash"}, first) && !strings.Contains(line, "NAME") {
			all = append(all, line)
		}
	}
	return all
}

// split splits a command into words, of which some are in quotes.
func split(command string) (words []string) {
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(command, -1) {
		words = append(words, strings.Trim(word, `'"`))
	}
	return words
}

// in reports whether a directory is one of a pattern such as shard/...
func in(directory, pattern string) bool {
	parent, below := strings.CutSuffix(pattern, "...")
	return directory == path.Clean(pattern) || below && strings.HasPrefix(directory+"/", parent)
}

// A command is a go run or a go test: its packages, from the root, and the patterns
// of functions, by flag.
type command struct {
	packages []string
	patterns map[string]string
}

func parse(words []string, base string) command {
	c, within := command{patterns: map[string]string{}}, ""
	for i, word := range words {
		switch name := strings.TrimLeft(word, "-"); {
		case i+1 < len(words) && word == "-C":
			within = words[i+1]
		case i+1 < len(words) && selects[name] != "":
			c.patterns[name] = words[i+1]
		case word == "." || strings.HasPrefix(word, "./"):
			c.packages = append(c.packages, path.Join(base, within, word))
		}
	}
	if len(c.packages) == 0 {
		c.packages = []string{path.Join(base, within, "...")}
	}
	return c
}

func (c command) hasPackages(t *testing.T) bool {
	return !slices.ContainsFunc(c.packages, func(pattern string) bool {
		return len(read(t, func(file string) bool { return strings.HasSuffix(file, ".go") && in(path.Dir(file), pattern) })) == 0
	})
}

// checkFunctions checks that each alternative of a pattern of functions selects
// some.
func (c command) checkFunctions(t *testing.T, where string, tests map[string][]string) {
	for flag, pattern := range c.patterns {
		pattern, _, _ = strings.Cut(strings.ReplaceAll(pattern, `\|`, "|"), "/")
		for one := range strings.SplitSeq(pattern, "|") {
			name, kind := regexp.MustCompile(one), regexp.MustCompile("^("+selects[flag]+")")
			selected := pattern == "^$"
			for directory, names := range tests {
				selected = selected || slices.ContainsFunc(c.packages, func(p string) bool { return in(directory, p) }) &&
					slices.ContainsFunc(names, func(f string) bool { return kind.MatchString(f) && name.MatchString(f) })
			}
			assert.True(t, selected, "no function matches %s: %s", one, where)
		}
	}
}
