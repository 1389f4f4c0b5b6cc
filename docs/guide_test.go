package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stories are the pages of the guide that tell one story each.
var stories = []string{
	"jobs", "retries", "delays", "priorities", "tenants",
	"values", "rate-limits", "shutdown", "testing", "observing",
}

// sections are what each story has, in this order, below its program.
var sections = []string{"How it behaves", "What it costs", "When not to use it"}

var (
	example      = regexp.MustCompile(`(?ms)^func Example\w*\(\) \{\n(.*?)^\}$`)
	testOfATest  = regexp.MustCompile(`(?ms)^func Test\w*\(t \*testing\.T\) \{\n.*?^\}\n`)
	numberedLink = regexp.MustCompile(`\[C\d+\]`)
)

// TestStoriesRunTheirPrograms: each program of a story is an example of the root,
// whose output go test compares, or a test beside the examples. The page links to
// the file of the first.
func TestStoriesRunTheirPrograms(t *testing.T) {
	files := programs(t)
	for _, name := range stories {
		page := find(t, "docs/guide/"+name+".md")
		blocks := page.blocks("go")
		require.NotEmpty(t, blocks, "%s has no program", page.path)
		for n, block := range blocks {
			assert.NotEmpty(t, files[block], "no example is program %d of %s", n+1, page.path)
		}
		linked := strings.Contains(page.text, "](../../"+files[blocks[0]]+")")
		assert.True(t, linked, "%s does not link to the file of its program", page.path)
	}
}

// programs returns the files of the examples, by what stands in their functions.
func programs(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for file, text := range read(t, isExampleOfTheRoot) {
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

func isExampleOfTheRoot(file string) bool {
	return path.Dir(file) == "." && strings.HasPrefix(file, "example_") && strings.HasSuffix(file, "_test.go")
}

// TestStoriesHaveTheirSections: each story says how its program behaves, clause by
// clause, what that costs, and when not to use it. The index has all stories.
func TestStoriesHaveTheirSections(t *testing.T) {
	index := find(t, "docs/README.md")
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
		assert.True(t, strings.Contains(index.text, "(guide/"+name+".md)"), "the index has no %s", name)
	}
}
