package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A result is the outcome of trying a mutant.
type result struct {
	mutant
	outcome outcome
	by      string   // the check that killed it
	wider   bool     // by is not its own check
	tests   []string // the tests that failed
	reason  string
	// own is the time that the first of the tests took to fail.
	own time.Duration
	// verdict is the time from the patch to the verdict. Most of it is
	// compiling.
	verdict time.Duration
}

// An outcome says what became of a mutant.
type outcome int

const (
	survived outcome = iota
	killedByCheck
	atFault // it does not apply or does not compile
)

func (o outcome) String() string { return [...]string{"SURVIVED", "killed", "AT FAULT"}[o] }

// tryUnchanged runs the checks of all mutants without the mutants, and returns
// how long each test took. It returns an error unless all tests exist and pass.
func tryUnchanged(o options, trees []tree, mutants []mutant) (times, error) {
	start := time.Now()
	checks := join(mutants)
	reports, faults := make([]report, len(checks)), make([]error, len(checks))
	each(trees, len(checks), func(t tree, i int) {
		var err error
		reports[i], err = checks[i].run(t, 20*o.limit)
		faults[i] = errors.Join(err, checks[i].passed(reports[i]))
	})
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("without any mutant:\n%w", err)
	}
	fmt.Printf("%d mutants; without them their checks pass, in %v\n", len(mutants), time.Since(start).Round(time.Second))
	return timesOf(reports), nil
}

// times has the time that each test takes without a mutant.
type times map[string]time.Duration

func timesOf(reports []report) times {
	took := times{}
	for _, r := range reports {
		for _, v := range r.verdicts {
			took[v.test] = max(took[v.test], v.took)
		}
	}
	return took
}

// limit returns the time after which a check counts as hanging: the usual limit
// plus five times what the check takes without a mutant.
func (t times) limit(c check, usual time.Duration) time.Duration {
	limit := usual
	for _, test := range c.tests {
		limit += 5 * t[test]
	}
	return limit
}

// join joins the checks of all mutants into one for each package, and one for
// each package with the race detector.
func join(mutants []mutant) (joined []check) {
	for _, m := range mutants {
		i := slices.IndexFunc(joined, func(c check) bool { return c.pkg == m.check.pkg && c.race == m.check.race })
		if i < 0 {
			i = len(joined)
			joined = append(joined, check{pkg: m.check.pkg, race: m.check.race})
		}
		joined[i].tests = append(joined[i].tests, m.check.tests...)
	}
	for i := range joined {
		slices.Sort(joined[i].tests)
		joined[i].tests = slices.Compact(joined[i].tests)
	}
	return joined
}

// passed returns an error unless all tests of the check ran and passed.
func (c check) passed(r report) error {
	var faults []error
	for _, v := range r.failed() {
		faults = append(faults, fmt.Errorf("%s fails: %s", v.test, v.reason()))
	}
	for _, test := range c.tests {
		if !slices.ContainsFunc(r.verdicts, func(v *verdict) bool { return v.test == test }) {
			faults = append(faults, fmt.Errorf("%s has no %s", c.pkg, test))
		}
	}
	return errors.Join(faults...)
}

// each calls do for 0 to n-1, in one goroutine for each tree.
func each(trees []tree, n int, do func(t tree, i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for _, t := range trees {
		all.Go(func() {
			for i := range next {
				do(t, i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// tryAll tries the mutants, and prints each result as soon as it is known.
func tryAll(o options, trees []tree, mutants []mutant, took times) []result {
	results := make([]result, len(mutants))
	var printing sync.Mutex
	each(trees, len(mutants), func(t tree, i int) {
		start := time.Now()
		results[i] = tryOne(o, t, mutants[i], took)
		results[i].verdict = time.Since(start)
		printing.Lock()
		defer printing.Unlock()
		results[i].print(o.verbose)
	})
	return results
}

func tryOne(o options, t tree, m mutant, took times) result {
	if err := t.apply(m); err != nil {
		return result{mutant: m, outcome: atFault, reason: err.Error()}
	}
	r := m.meet(t, took.limit(m.check, o.limit), 20*o.limit)
	if err := t.restore(m); err != nil {
		r.outcome, r.reason = atFault, err.Error()
	}
	return r
}

// meet runs one check after the other on a mutant in the tree, until one kills
// it. Own is the time limit of the mutant's own check, and all that of the
// checks of a whole package.
func (m mutant) meet(t tree, own, all time.Duration) result {
	limit := own
	for i, c := range append([]check{m.check}, m.widerChecks()...) {
		report, err := c.run(t, limit)
		if err != nil {
			return result{mutant: m, outcome: atFault, reason: err.Error()}
		}
		if failed := report.failed(); len(failed) > 0 {
			return m.killed(c.String(), i > 0, failed)
		}
		limit = all
	}
	return m.meetStress(t)
}

func (m mutant) killed(by string, wider bool, failed []*verdict) result {
	r := result{mutant: m, outcome: killedByCheck, by: by, wider: wider, reason: failed[0].reason(), own: failed[0].took}
	for _, v := range failed {
		r.tests = append(r.tests, v.test)
	}
	return r
}

// widerChecks returns the checks for a mutant that survived its own, in the
// order of their cost.
func (m mutant) widerChecks() (checks []check) {
	for _, race := range []bool{false, true} {
		for _, pkg := range append(slices.Clone(m.packages), "./test/contract") {
			c := check{pkg: pkg, race: race}
			if !slices.ContainsFunc(checks, func(d check) bool { return d.pkg == c.pkg && d.race == c.race }) {
				checks = append(checks, c)
			}
		}
	}
	return checks
}

// meetStress runs the stress program, which is the last check.
func (m mutant) meetStress(t tree) result {
	arguments := []string{"run", "-race", "./stress", "-duration", "20s", "-seed", "1"}
	start := time.Now()
	out, failed := runGo(t, grace, arguments...)
	if failed == nil {
		return result{mutant: m, outcome: survived}
	}
	v := &verdict{test: "stress", output: string(out) + failed.Error(), took: time.Since(start)} // including compiling
	return m.killed("go "+strings.Join(arguments, " "), true, []*verdict{v})
}
