// Mutants plants mistakes into copies of the module, one at a time, and shows
// whether the check that should find each does.
//
//	go run ./test/mutants                      all mutants, about an hour
//	go run ./test/mutants -run drain           those whose names match
//	go run ./test/mutants -random 60 -seed 1   mistakes by lot
//	go run ./test/mutants -only 17 -seed 1     one of them, with its diff
//
// A mutant is a file in test/mutants/patches: the mistake, the package and test
// that should find it, and a patch. The exit status is 0 only if all mutants
// were killed.
package main

import (
	"errors"
	"flag"
	"fmt"
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

// test runs a check in a tree. A mutant that hangs is killed.
func test(tree, pkg, pattern string) error {
	check := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout=5m", "-run", pattern, pkg)
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

func plantPatches(module, match string) error {
	mutants, err := readMutants(filepath.Join(module, "test/mutants/patches"), match)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	git := filepath.Join(tree, ".git") // a patch is for the copy
	if err := errors.Join(os.CopyFS(tree, os.DirFS(module)), os.RemoveAll(git)); err != nil {
		return err
	}
	var survived error
	for _, m := range mutants {
		start := time.Now()
		if err := m.try(tree); err != nil {
			survived = errors.Join(survived, err)
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s killed by %s in %v\n", m.name, m.test, time.Since(start).Round(time.Second))
	}
	return survived
}

func main() {
	match := flag.String("run", "", "only the mutants whose names match this `regexp`")
	count := flag.Int("random", 0, "plant this `number` of mistakes by lot instead")
	seed := flag.Uint64("seed", 1, "the `seed` of the lot")
	only := flag.Int("only", 0, "plant the mistake with this `number` in the lot, and show it")
	list := flag.Bool("list", false, "list the lot, and plant nothing")
	flag.Parse()
	byLot := *count > 0 || *only > 0
	if flag.NArg() > 0 || min(*count, *only) < 0 || byLot && *match != "" || *list && (*count == 0 || *only > 0) {
		flag.Usage()
		os.Exit(2)
	}
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Path}}").Output()
	module, path, _ := strings.Cut(strings.TrimSpace(string(listed)), " ")
	if err == nil && byLot {
		err = plantByLot(module, path, *seed, *count, *only, *list)
	} else if err == nil {
		err = plantPatches(module, *match)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}
