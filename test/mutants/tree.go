package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A tree is a copy of the module into which mutants are patched.
type tree struct{ directory string }

// moduleRoot returns the root directory of the module of the working directory.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	if file := strings.TrimSpace(string(out)); file != "" && file != os.DevNull {
		return filepath.Dir(file), nil
	}
	return "", errors.New("run it inside the module")
}

func copyTrees(root string, n int) (trees []tree, err error) {
	for range n {
		directory, err := os.MkdirTemp("", "shardq-mutant-")
		if err != nil {
			return trees, err
		}
		trees = append(trees, tree{directory})
		if err := copyModule(root, directory); err != nil {
			return trees, err
		}
	}
	return trees, nil
}

func removeTrees(trees []tree) {
	for _, t := range trees {
		os.RemoveAll(t.directory)
	}
}

// copyModule copies the files of the module as they are in the working tree. It
// leaves out names that begin with a dot, and nested modules.
func copyModule(root, to string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, root))
		switch {
		case strings.HasPrefix(d.Name(), ".") || d.IsDir() && isModule(path):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir():
			return os.Mkdir(target, 0o755)
		case d.Type().IsRegular():
			return copyFile(path, target)
		}
		return nil
	})
}

func isModule(directory string) bool {
	_, err := os.Stat(filepath.Join(directory, "go.mod"))
	return err == nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// apply applies a mutant's patch to the tree.
func (t tree) apply(m mutant) error { return t.git("apply", "--whitespace=nowarn", m.file) }

// restore reverses apply.
func (t tree) restore(m mutant) error {
	return errors.Join(t.forgetFailures(), t.git("apply", "--whitespace=nowarn", "--reverse", m.file))
}

// forgetFailures removes the failures that rapid has recorded in any package.
// Rapid would try them first on every other mutant.
func (t tree) forgetFailures() error {
	return filepath.WalkDir(t.directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "rapid" || filepath.Base(filepath.Dir(path)) != "testdata" {
			return err
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return filepath.SkipDir
	})
}

// git runs git in the tree, as if no repository contained it.
func (t tree) git(arguments ...string) error {
	command := exec.Command("git", arguments...)
	command.Dir = t.directory
	command.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "GIT_")
	}), "GIT_CEILING_DIRECTORIES="+filepath.Dir(t.directory))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", arguments[0], err, bytes.TrimSpace(out))
	}
	return nil
}
