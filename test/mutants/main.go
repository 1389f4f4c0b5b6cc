// Mutants plants mistakes, one at a time, and shows whether the tests find each:
// those of test/mutants/patches, or with -random others by lot. The exit status is
// 0 only if all were killed.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

func plantPatches(match string) error {
	mutants, err := readMutants("test/mutants/patches", match)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	git := filepath.Join(tree, ".git") // a patch is for the copy
	if err := errors.Join(os.CopyFS(tree, os.DirFS(".")), os.RemoveAll(git)); err != nil {
		return err
	}
	var survived error
	for _, m := range mutants {
		start := time.Now()
		if err := m.try(tree); err != nil {
			survived = errors.Join(survived, err)
			fmt.Println(err)
		} else {
			fmt.Printf("%s killed by %s in %v\n", m.name, m.test, time.Since(start).Round(time.Second))
		}
	}
	return survived
}

// plantByLot draws and examines mistakes, or one alone, or lists them.
func plantByLot(path string, seed uint64, count, only int, list bool) error {
	l, err := newLot(path, seed)
	if most := len(l.places); err == nil && max(count, only) > most {
		err = fmt.Errorf("there are %d places for a mistake", most)
	}
	if err != nil || list {
		for i := 0; i < count && err == nil; i++ {
			fmt.Println(l.places[i])
		}
		return err
	}
	if only > 0 {
		l.places, count = l.places[only-1:only], 1
	}
	if l.scratch, err = os.MkdirTemp("", "mutants"); err != nil {
		return err
	}
	defer os.RemoveAll(l.scratch)
	if err := l.build(count); err != nil {
		return err
	}
	fmt.Println("running them without a mistake")
	each(l.checks, l.measure)
	slices.SortFunc(l.checks, func(a, b *check) int { return cmp.Compare(a.duration, b.duration) })
	if !l.examineAll() {
		return errors.New("not all were killed")
	}
	return nil
}

func output(command string, args ...string) (string, error) {
	text, err := exec.Command(command, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", command, args[0], err, text)
	}
	return string(text), err
}

func main() {
	match := flag.String("run", "", "only the mutants whose names match this `regexp`")
	count := flag.Int("random", 0, "plant this `number` of mistakes by lot instead")
	seed := flag.Uint64("seed", 1, "the `seed` of the lot")
	only := flag.Int("only", 0, "plant the mistake with this `number` in the lot")
	list := flag.Bool("list", false, "list the lot, and plant nothing")
	flag.Parse()
	byLot := *count > 0 || *only > 0
	if flag.NArg() > 0 || min(*count, *only) < 0 || byLot && *match != "" || *list && (*count == 0 || *only > 0) {
		flag.Usage()
		os.Exit(2)
	}
	listed, err := output("go", "list", "-m", "-f", "{{.Dir}} {{.Path}}")
	module, path, _ := strings.Cut(strings.TrimSpace(listed), " ")
	if err = errors.Join(err, os.Chdir(module)); err == nil && byLot {
		err = plantByLot(path, *seed, *count, *only, *list)
	} else if err == nil {
		err = plantPatches(*match)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}
