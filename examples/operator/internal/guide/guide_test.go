// Package guide tests the diffs of docs/guide/kubernetes.md on a project with
// the layout of kubebuilder and operator-sdk.
package guide

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDiffs: each diff of the guide applies to one file, and the result
// compiles.
func TestDiffs(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/scaffold")))
	modules(t, dir)
	run(t, dir, "vet", "./...")
	diffs := diffsOf(t, "../../../../docs/guide/kubernetes.md")
	require.Len(t, diffs, 3)
	for _, diff := range diffs {
		apply(t, dir, diff)
	}
	run(t, dir, "vet", "./...")
}

// modules writes a go.mod with the versions of this module.
func modules(t *testing.T, dir string) {
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	text := strings.NewReplacer("module github.com/shardq/shardq/examples/operator", "module example.com/scaffold",
		"=> ../..", "=> "+filepath.ToSlash(root)).Replace(string(mod))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644))
	sum, err := os.ReadFile("../../go.sum")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644))
}

// diffsOf returns the diffs of a page.
func diffsOf(t *testing.T, page string) (diffs []string) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, part := range strings.Split(string(text), "```diff\n")[1:] {
		diff, _, _ := strings.Cut(part, "```")
		diffs = append(diffs, diff)
	}
	return diffs
}

// apply applies a diff to the one file that has all its hunks. A line with an
// ellipsis ends a hunk.
func apply(t *testing.T, dir, diff string) {
	applied := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if changed, ok := patched(string(text), diff); ok {
			applied++
			require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
		}
		return nil
	}))
	require.Equal(t, 1, applied, "files to which this applies:\n%s", diff)
}

func patched(text, diff string) (changed string, ok bool) {
	for _, hunk := range strings.Split(diff, " …\n") {
		var before, after strings.Builder
		for line := range strings.Lines(hunk) {
			if line[0] != '+' {
				before.WriteString(line[1:])
			}
			if line[0] != '-' {
				after.WriteString(line[1:])
			}
		}
		if strings.Count(text, before.String()) != 1 {
			return "", false
		}
		text = strings.Replace(text, before.String(), after.String(), 1)
	}
	return text, true
}

func run(t *testing.T, dir string, arguments ...string) {
	command := exec.Command("go", arguments...)
	command.Dir = dir
	output, err := command.CombinedOutput()
	require.NoError(t, err, "go %s: %s", strings.Join(arguments, " "), output)
}
