// Mutants puts plausible mistakes into copies of the module, one at a time, and
// shows which check finds each. A mistake that no check finds is a hole in the
// tests.
//
//	go run ./test/mutants                all mutants, some hours
//	go run ./test/mutants -run turn -v   those that match, with their commands
//	go run ./test/mutants -part 3/30     every thirtieth, from the third on
//	go run ./test/mutants -list          print the mutants and run nothing
//	go run ./test/mutants -update FILE   all mutants, and update the table in FILE
//
// With -run, -update changes the rows of the mutants that match.
//
// A mutant is a file in test/mutants/patches: a patch with a header. The header
// has the mistake, the clauses of docs/reference/semantics.md that it breaks,
// and the tests that should find it. Those tests run first. A mutant that
// survives them meets all tests of its package, then those of the queue, then
// both under the race detector, and last the stress program. Before that, the
// tests run on an unchanged copy, because a test that always fails would kill
// every mutant.
//
// The command prints two times for each mutant: how long the first of the tests
// took to fail, and how long the verdict took. Most of the latter is compiling.
//
// The time limit of its check kills a mutant that hangs. A mutant that does not
// apply or does not compile is at fault, not killed. The exit status is 0 only
// if all mutants were killed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// options are the flags of the command line.
type options struct {
	run      *regexp.Regexp
	part     part
	list     bool
	verbose  bool
	markdown bool
	update   string
	limit    time.Duration
	workers  int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func parseOptions() (options, error) {
	var o options
	pattern := flag.String("run", "", "only the mutants whose names match this `regexp`")
	flag.Var(&o.part, "part", "of those, `K/N`: every Nth, from the Kth on")
	flag.BoolVar(&o.list, "list", false, "list the mutants, and run nothing")
	flag.BoolVar(&o.verbose, "v", false, "print each mistake and each command")
	flag.BoolVar(&o.markdown, "markdown", false, "print the results as a table for the documents")
	flag.StringVar(&o.update, "update", "", "update the table between the marks in this `file` with the results")
	flag.DurationVar(&o.limit, "timeout", 30*time.Second, "how long a check may take, in addition to five times its time without a mutant")
	flag.IntVar(&o.workers, "workers", 2, "the number of mutants tried at once")
	flag.Parse()
	var err error
	o.run, err = regexp.Compile(*pattern)
	switch {
	case err != nil:
		return o, fmt.Errorf("-run: %w", err)
	case flag.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case o.workers < 1:
		return o, fmt.Errorf("-workers is %d: want at least 1", o.workers)
	case o.limit < time.Second:
		return o, fmt.Errorf("-timeout is %v: want at least 1s", o.limit)
	case o.update != "" && o.list:
		return o, fmt.Errorf("-update takes results: leave out -list")
	}
	return o, nil
}

// patches is the directory of the mutants, below the root of the module.
const patches = "test/mutants/patches"

func run() error {
	o, err := parseOptions()
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	mutants, err := readMutants(filepath.Join(root, patches), o.run)
	if err != nil {
		return err
	}
	mutants = o.part.of(mutants)
	if o.list {
		printList(mutants)
		return nil
	}
	return try(o, root, mutants)
}

// try runs the mutants and reports on them.
func try(o options, root string, mutants []mutant) error {
	if o.update != "" {
		if err := checkMarks(o.update); err != nil {
			return err // before the run, which takes long
		}
	}
	start := time.Now()
	trees, err := copyTrees(root, o.workers)
	defer removeTrees(trees)
	if err != nil {
		return err
	}
	took, err := tryUnchanged(o, trees, mutants)
	if err != nil {
		return err
	}
	results := tryAll(o, trees, mutants, took)
	all, err := readMutants(filepath.Join(root, patches), regexp.MustCompile(""))
	if err != nil {
		return err
	}
	return conclude(o, all, results, time.Since(start))
}

// conclude prints the rest of the results, and returns an error unless all
// mutants were killed.
func conclude(o options, all []mutant, results []result, took time.Duration) error {
	killed := 0
	for _, r := range results {
		if r.outcome == killedByCheck {
			killed++
		}
	}
	if o.markdown {
		fmt.Print(markdown(results, took))
	}
	fmt.Printf("%d of %d killed in %v\n", killed, len(results), took.Round(time.Second))
	if killed < len(results) {
		return fmt.Errorf("%d of %d mutants were not killed", len(results)-killed, len(results))
	}
	if o.update != "" {
		return renew(o.update, all, results, took)
	}
	return nil
}
