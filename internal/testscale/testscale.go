// Package testscale sets how much the long tests do: model runs, litmus tests
// and bursts.
//
// The environment variable SHARDQ_SCALE is that amount: 1 without it, 100 in a long
// run.
package testscale

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
)

const (
	full    = 10
	minimum = 3
)

// scale reads the variable each time, because go test caches results by the
// variables that the tests themselves read.
func scale() int {
	text := os.Getenv("SHARDQ_SCALE")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic(fmt.Sprintf("testscale: SHARDQ_SCALE is %q: want a number from 1", text))
	}
	return n
}

// N returns how often a test repeats what it repeats n times at full scale. It
// returns at least 3, or n if that is less.
func N(n int) int { return max(n*scale()/full, min(n, minimum)) }

// rapidIsSet says that Rapid has set the flags.
var rapidIsSet bool

// Rapid sets the number of checks of package rapid to N(n), unless the flag
// -rapid.checks was given. Without SHARDQ_SCALE the programs are the same in
// each run, so that the gate fails only because of a change. Parallel tests
// must not call it.
func Rapid(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" || f.Name == "rapid.seed" })
	if given && !rapidIsSet {
		return
	}
	rapidIsSet = true
	seed := "0" // another one in each run
	if scale() == 1 {
		seed = "1"
	}
	if err := errors.Join(flag.Set("rapid.checks", strconv.Itoa(N(n))), flag.Set("rapid.seed", seed)); err != nil {
		panic(err) // the test does not import rapid
	}
}
