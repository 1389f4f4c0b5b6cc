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

// stories are the pages of the guide that have all sections. The other pages
// have a program as well.
var (
	stories = []string{
		"jobs", "retries", "delays", "priorities", "tenants", "pauses", "values", "rate-limits", "shutdown", "testing",
		"observing", "workers", "kubernetes",
	}
	others = []string{"debugpage", "write-behind", "middleware", "traces"}
)

// sections are what each story has, in this order, below its program.
var sections = []string{"How it behaves", "What it costs", "When not to use it"}

// longest is the number of lines that a page may have.
const longest = 120

var (
	example      = regexp.MustCompile(`(?ms)^func Example\w*\(\) \{\n(.*?)^\}$`)
	testOfATest  = regexp.MustCompile(`(?ms)^func Test\w*\(t \*testing\.T\) \{\n.*?^\}\n`)
	numberedLink = regexp.MustCompile(`\[C\d+\]`)
)

// guide returns the pages of the guide, by their names.
func guide(t *testing.T) map[string]document {
	t.Helper()
	pages := map[string]document{}
	for _, d := range documents(t) {
		if path.Dir(d.path) == "docs/guide" {
			pages[strings.TrimSuffix(path.Base(d.path), ".md")] = d
		}
	}
	return pages
}

// TestGuideIsComplete: the guide has these pages, none is long, and the index
// lists all.
func TestGuideIsComplete(t *testing.T) {
	index, pages := find(t, "docs/README.md"), guide(t)
	require.Len(t, pages, len(stories)+len(others))
	for _, name := range slices.Concat(stories, others) {
		require.Contains(t, pages, name)
		assert.LessOrEqual(t, strings.Count(pages[name].text, "\n"), longest, "the lines of %s", name)
		assert.Contains(t, index.text, "(guide/"+name+".md)", "the index has no %s", name)
	}
}

// TestGuideRunsItsPrograms: each program of the guide is an example whose
// output go test compares, or a test beside the examples. The page links to the
// file of the first.
func TestGuideRunsItsPrograms(t *testing.T) {
	files := programs(t)
	for _, page := range guide(t) {
		blocks := page.blocks("go")
		require.NotEmpty(t, blocks, "%s has no program", page.path)
		for n, block := range blocks {
			assert.NotEmpty(t, files[block], "no example is program %d of %s", n+1, page.path)
		}
		linked := strings.Contains(page.text, "](../../"+files[blocks[0]]+")")
		assert.True(t, linked, "%s does not link to the file of its program", page.path)
	}
}

// programs returns the files of the examples, by the bodies of their functions.
func programs(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for file, text := range read(t, isExample) {
		for _, match := range example.FindAllStringSubmatch(text, -1) {
			if strings.Contains(match[1], "// Output:") { // otherwise go test does not run it
				files[strings.ReplaceAll("\n"+match[1], "\n\t", "\n")[1:]] = file
			}
		}
		for _, test := range testOfATest.FindAllString(text, -1) {
			files[test] = file
		}
	}
	require.NotEmpty(t, files)
	return files
}

// isExample reports whether a file has examples of a package that the guide is
// about.
func isExample(file string) bool {
	of := []string{".", "worker", "coalesce", "observe/debugpage", "kubernetes", "cluster", "shardqtest", "observe/otel"}
	return slices.Contains(of, path.Dir(file)) &&
		strings.HasPrefix(path.Base(file), "example") && strings.HasSuffix(file, "_test.go")
}

// TestStoriesHaveTheirSections: each story says how its program behaves, clause
// by clause, what that costs, and when not to use it.
func TestStoriesHaveTheirSections(t *testing.T) {
	for _, name := range stories {
		page := find(t, "docs/guide/"+name+".md")
		rest := page.prose()
		for _, section := range sections {
			_, after, found := strings.Cut(rest, "\n## "+section+"\n")
			assert.True(t, found, "%s has no section %q, or not in its place", page.path, section)
			if section == sections[0] {
				assert.True(t, numberedLink.MatchString(after), "%s names no clause", page.path)
			}
			rest = after
		}
	}
}
