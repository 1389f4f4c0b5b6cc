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

// TestCommandsExist: the packages, flags, targets of make, and functions that
// the commands in documents name exist.
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
				c := parse(words[1:], "")
				if !c.hasPackages(t) { // then it is for the directory of the document
					c = parse(words[1:], path.Dir(d.path))
				}
				assert.True(t, c.hasPackages(t), "a package is not there: %s", where)
				if checked++; words[1] == "run" {
					c.checkFlags(t, where)
				} else {
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

// A command is a go run or a go test: its packages, from the root, and the
// flags with their values, in their order.
type command struct {
	packages []string
	flags    [][2]string
}

// withValue are flags of the go command whose value is the next word. For those
// of programs it does not matter: a word that is no package is skipped.
var withValue = []string{"-C", "-run", "-bench", "-fuzz", "-benchtime", "-fuzztime", "-count", "-timeout", "-cpuprofile", "-o", "-exec", "-cpu", "-tags"}

func parse(words []string, base string) (c command) {
	within, isRun := "", words[0] == "run"
	for i := 1; i < len(words); i++ {
		word := words[i]
		switch ofProgram := isRun && len(c.packages) > 0; {
		case strings.HasPrefix(word, "-"):
			name, value, has := strings.Cut(word, "=")
			if !has && i+1 < len(words) && (ofProgram || slices.Contains(withValue, word)) {
				value = words[i+1]
				if !ofProgram {
					i++
				}
			}
			if word == "-C" {
				within = value
			} else if ofProgram == isRun {
				c.flags = append(c.flags, [2]string{strings.TrimLeft(name, "-"), value})
			}
		case !ofProgram && (word == "." || strings.HasPrefix(word, "./")):
			c.packages = append(c.packages, path.Join(base, within, word))
		}
	}
	if len(c.packages) == 0 && !isRun {
		c.packages = []string{path.Join(base, within, "...")}
	}
	return c
}

// in reports whether a directory is one of a pattern such as shard/...
func in(directory, pattern string) bool {
	parent, below := strings.CutSuffix(pattern, "...")
	return directory == path.Clean(pattern) || below && strings.HasPrefix(directory+"/", parent)
}

// sources returns the Go files of a pattern.
func sources(t *testing.T, pattern string) map[string]string {
	return read(t, func(file string) bool { return strings.HasSuffix(file, ".go") && in(path.Dir(file), pattern) })
}

func (c command) hasPackages(t *testing.T) bool {
	return !slices.ContainsFunc(c.packages, func(pattern string) bool { return len(sources(t, pattern)) == 0 })
}

// checkFlags checks that a program declares its flags.
func (c command) checkFlags(t *testing.T, where string) {
	for _, flag := range c.flags {
		if flag[0] == "h" {
			continue
		}
		declares := regexp.MustCompile(`\.(\w*Var|Bool|Duration|Float64|Int|Int64|String|Uint|Uint64|Func)\([^"]*"` + regexp.QuoteMeta(flag[0]) + `"`)
		has := false
		for _, text := range sources(t, path.Join(c.packages[0], "...")) {
			has = has || declares.MatchString(text)
		}
		assert.True(t, has, "no flag -%s: %s", flag[0], where)
	}
}

// checkFunctions checks that each alternative of a pattern of functions selects
// some.
func (c command) checkFunctions(t *testing.T, where string, tests map[string][]string) {
	for _, flag := range c.flags {
		begins, is := selects[flag[0]]
		pattern, _, _ := strings.Cut(strings.ReplaceAll(flag[1], `\|`, "|"), "/")
		if !is || pattern == "^$" {
			continue
		}
		for one := range strings.SplitSeq(pattern, "|") {
			name, kind := regexp.MustCompile(one), regexp.MustCompile("^("+begins+")")
			selected := false
			for directory, names := range tests {
				selected = selected || slices.ContainsFunc(c.packages, func(p string) bool { return in(directory, p) }) &&
					slices.ContainsFunc(names, func(f string) bool { return kind.MatchString(f) && name.MatchString(f) })
			}
			assert.True(t, selected, "no function matches %s: %s", one, where)
		}
	}
}

// TestTheGateRunsTheCommandsOfTheREADME: word by word. The lines that install
// are those that .ci/install reads.
func TestTheGateRunsTheCommandsOfTheREADME(t *testing.T) {
	gate, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	require.NoError(t, err)
	readme := read(t, func(file string) bool { return file == "README.md" })["README.md"]
	for line := range strings.Lines(strings.Join(document{"README.md", readme}.blocks("sh"), "")) {
		if strings.HasPrefix(line, "git clone") || strings.HasPrefix(line, "go mod") {
			line = ".ci/install"
		}
		assert.Regexp(t, `(?m)^[^#\n]*`+regexp.QuoteMeta(strings.TrimSpace(line))+`$`, string(gate))
	}
}
