// Package docs_test checks the documents of the repository against the code: a
// document that has gone stale fails here.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = ".." // of the repository

// A document is a Markdown file of the repository.
type document struct {
	path string // from the root, with slashes
	text string
}

func documents(t *testing.T) (all []document) {
	for path, text := range read(t, func(path string) bool { return strings.HasSuffix(path, ".md") }) {
		all = append(all, document{path, text})
	}
	require.NotEmpty(t, all)
	return all
}

// read returns the files of the repository that are wanted, by their paths from
// the root. It omits test data and hidden files, but for those of .github.
func read(t *testing.T, wanted func(path string) bool) map[string]string {
	all, err := readAll()
	require.NoError(t, err)
	files := map[string]string{}
	for path, text := range all {
		if wanted(path) {
			files[path] = text
		}
	}
	return files
}

// readAll reads the files once for all tests.
var readAll = sync.OnceValues(func() (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && path != root && entry.Name() != ".github"
		if entry.IsDir() && (hidden || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		if err != nil || entry.IsDir() || hidden {
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(relative)] = string(text)
		return err
	})
	return files, err
})

var (
	fence    = regexp.MustCompile("(?ms)^```([\\w-]*)\n(.*?)^```$")
	codeSpan = regexp.MustCompile("`([^`]+)`")
)

// blocks returns the fenced blocks of a language.
func (d document) blocks(language string) (found []string) {
	for _, match := range fence.FindAllStringSubmatch(d.text, -1) {
		if match[1] == language {
			found = append(found, match[2])
		}
	}
	return found
}

// prose returns the document without its fenced blocks.
func (d document) prose() string { return fence.ReplaceAllString(d.text, "") }

// spans returns the code spans of the prose.
func (d document) spans() (found []string) {
	for _, match := range codeSpan.FindAllStringSubmatch(d.prose(), -1) {
		found = append(found, strings.Join(strings.Fields(match[1]), " "))
	}
	return found
}
