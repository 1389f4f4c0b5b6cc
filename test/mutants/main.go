// Mutants puts plausible mistakes into copies of the module, one at a time, and shows
// which check finds each. A mistake that no check finds is a hole in the tests.
//
//	go run ./test/mutants                    all of them, some minutes
//	go run ./test/mutants -run turn -v       those whose names match, with their commands
//	go run ./test/mutants -part 3/30         every thirtieth of them, from the third on
//	go run ./test/mutants -list              what there is, without a run
//	go run ./test/mutants -update FILE       all of them, and the table in FILE renewed; with
//	                                    -run, the rows of those that it chooses
//
// A mutant is a file in test/mutants/patches: a patch, and above it what the mistake is,
// which clauses of docs/reference/semantics.md it breaks, and which test should find it. That
// test runs first; a mutant that survives it meets all tests of its package, then
// those of the queue, then both under the race detector, and last the stress program.
// Before any of this, the tests run on an unchanged copy: one that always fails would
// kill every mutant.
//
// For each mutant two times are told: how long the first of the tests took to fail, and
// how long it was from the patch to the verdict, most of which goes into compiling.
//
// A mutant that hangs is killed by the time limit of its check. One that cannot be
// applied or compiled any more is not killed, but at fault. The exit status is 0 only
// if all were killed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// options are what the command line says.
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
	flag.StringVar(&o.update, "update", "", "renew the rows of these mutants in the table between the marks in this `file`")
	flag.DurationVar(&o.limit, "timeout", 30*time.Second, "how long a check may take, beside five times what it takes without a mutant")
	flag.IntVar(&o.workers, "workers", 2, "how many mutants are tried at once")
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

func run() error {
	o, err := parseOptions()
	if err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	mutants, err := readMutants(filepath.Join(root, "mutants", "patches"), o.run)
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
			return err // before minutes have gone by
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
	all, err := readMutants(filepath.Join(root, "mutants", "patches"), regexp.MustCompile(""))
	if err != nil {
		return err
	}
	return conclude(o, all, results, time.Since(start))
}

// conclude prints what is left to print, and returns an error unless all were killed.
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
