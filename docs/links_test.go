package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// shared matches a link whose target stands below, and target matches that.
	shared  = regexp.MustCompile(`\]\[([^\]\s]+)\]`)
	target  = regexp.MustCompile(`(?m)^\[([^\]]+)\]: (\S+)$`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	unnamed = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksLead follows the links within the repository, to files and to
// headings. It does not ask the network.
func TestLinksLead(t *testing.T) {
	followed := 0
	for _, d := range documents(t) {
		for _, to := range d.targets(t) {
			if !scheme.MatchString(to) {
				followed++
				follow(t, d, to)
			}
		}
	}
	require.NotZero(t, followed)
}

// targets returns the targets of the links in the prose.
func (d document) targets(t *testing.T) (all []string) {
	prose := codeSpan.ReplaceAllString(d.prose(), "")
	for _, match := range link.FindAllStringSubmatch(prose, -1) {
		all = append(all, match[1])
	}
	named := map[string]bool{}
	for _, match := range target.FindAllStringSubmatch(prose, -1) {
		named[match[1]] = true
		all = append(all, match[2])
	}
	for _, match := range shared.FindAllStringSubmatch(prose, -1) {
		assert.True(t, named[match[1]], "%s links to [%s], which has no target", d.path, match[1])
	}
	return all
}

func follow(t *testing.T, from document, target string) {
	file, anchor, _ := strings.Cut(target, "#")
	to := from
	if file != "" {
		place := path.Join(path.Dir(from.path), file)
		info, err := os.Stat(filepath.Join(root, place))
		if !assert.NoError(t, err, "%s links to %s", from.path, target) || info.IsDir() || !strings.HasSuffix(file, ".md") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, place))
		require.NoError(t, err)
		to = document{place, string(text)}
	}
	if anchor != "" {
		assert.Contains(t, anchors(to), anchor, "%s links to %s", from.path, target)
	}
}

// anchors returns the names that GitHub gives to the headings of a document.
func anchors(d document) (names []string) {
	for _, match := range heading.FindAllStringSubmatch(d.prose(), -1) {
		name := unnamed.ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}
