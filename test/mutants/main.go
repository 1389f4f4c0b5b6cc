// Mutants plants mistakes into copies of the module, one at a time, and shows
// whether the check that should find each does.
//
//	go run ./test/mutants             all mutants, about an hour
//	go run ./test/mutants -run drain  those whose names match
//
// A mutant is a file in test/mutants/patches: the mistake, the package and test
// that should find it, and a patch. The exit status is 0 only if all mutants
// were killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A mutant is a planted mistake.
type mutant struct {
	name, mistake, pkg, test string
	patch                    string
}

var header = regexp.MustCompile(`(?s)^Mistake: (.*?)\nKilled by: (\S+) (\S+)\n\n(diff --git .*)$`)

// readMutants returns the mutants of a directory whose names match.
func readMutants(directory, match string) (mutants []mutant, err error) {
	pattern, err := regexp.Compile(match)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.patch"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found := header.FindStringSubmatch(string(text))
		if found == nil {
			return nil, fmt.Errorf("%s: want the lines Mistake and Killed by, and a patch", file)
		}
		m := mutant{strings.TrimSuffix(filepath.Base(file), ".patch"), found[1], found[2], found[3], found[4]}
		if pattern.MatchString(m.name) {
			mutants = append(mutants, m)
		}
	}
	if err == nil && len(mutants) == 0 {
		err = fmt.Errorf("no mutant in %s matches %q", directory, match)
	}
	return mutants, err
}

// apply applies the patch to a tree, or takes it back.
func (m mutant) apply(tree string, options ...string) error {
	apply := exec.Command("git", append([]string{"apply", "--whitespace=nowarn"}, options...)...)
	apply.Dir, apply.Stdin = tree, strings.NewReader(m.patch)
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(tree))
	if output, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not apply: %s", m.name, output)
	}
	return nil
}

// limit is how long a check may take. A mutant that hangs is killed.
const limit = 10 * time.Minute

// test runs a check in a tree.
func test(tree, pkg, pattern string) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	check := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-timeout=5m", "-run", pattern, pkg)
	check.Dir = tree
	return check.Run()
}

// try plants the mistake, and returns an error unless its check finds it.
func (m mutant) try(tree string) (err error) {
	if err := m.apply(tree); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.apply(tree, "--reverse")) }()
	if err := test(tree, m.pkg, "^$"); err != nil {
		return fmt.Errorf("%s does not compile: %w", m.name, err)
	}
	if test(tree, m.pkg, "^"+m.test+"$") == nil {
		return fmt.Errorf("%s SURVIVED: %s", m.name, m.mistake)
	}
	return nil
}

func run(out io.Writer, match string) error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return err
	}
	module := strings.TrimSpace(string(root))
	mutants, err := readMutants(filepath.Join(module, "test/mutants/patches"), match)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	if err := os.CopyFS(tree, os.DirFS(module)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(tree, ".git")); err != nil { // a patch is for the copy
		return err
	}
	var survived error
	for _, m := range mutants {
		start := time.Now()
		if err := m.try(tree); err != nil {
			survived = errors.Join(survived, err)
			fmt.Fprintln(out, err)
			continue
		}
		fmt.Fprintf(out, "%s killed by %s in %v\n", m.name, m.test, time.Since(start).Round(time.Second))
	}
	return survived
}

func main() {
	match := flag.String("run", "", "only the mutants whose names match this `regexp`")
	flag.Parse()
	if err := run(os.Stdout, *match); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}
