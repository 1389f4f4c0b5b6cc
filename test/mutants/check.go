package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// arguments returns the arguments of the go command that runs the check. With
// -trimpath, the copies share what one of them has compiled.
func (c check) arguments(limit time.Duration) []string {
	arguments := []string{"test", "-json", "-trimpath", "-vet=off", "-count=1", "-timeout=" + limit.String()}
	if c.race {
		arguments = append(arguments, "-race")
	}
	if len(c.tests) > 0 {
		arguments = append(arguments, "-run=^("+strings.Join(c.tests, "|")+")$")
	}
	return append(arguments, "-short", c.pkg)
}

// String returns the check as a command line.
func (c check) String() string {
	var b strings.Builder
	b.WriteString("go test ")
	if c.race {
		b.WriteString("-race ")
	}
	if len(c.tests) > 0 {
		fmt.Fprintf(&b, "-run '^(%s)$' ", strings.Join(c.tests, "|"))
	}
	return b.String() + "-short " + c.pkg
}

// grace is the time that a check may take in addition to its limit, to compile
// and to end.
const grace = 5 * time.Minute

// errTimeOver is the error of a command that exceeded its time limit.
var errTimeOver = errors.New("did not end")

// errCompile is the error of a check whose package does not compile.
var errCompile = errors.New("does not compile")

// run runs the check in a tree, and reports its results. It returns an error if
// the check did not run.
func (c check) run(t tree, limit time.Duration) (report, error) {
	out, failed := runGo(t, limit+grace, c.arguments(limit)...)
	return readEvents(out).judge(failed)
}

// judge returns an error if the check did not run. If the command failed and no
// test did, judge adds a failure of TestMain.
func (r report) judge(failed error) (report, error) {
	switch {
	case r.uncompiled:
		return r, fmt.Errorf("%w: %s", errCompile, r.output)
	case errors.Is(failed, errTimeOver) && len(r.verdicts) == 0: // it may still have been compiling
		return r, fmt.Errorf("no test began: %w", failed)
	case failed != nil && len(r.failed()) == 0: // it ended while no test ran
		r.verdicts = append(r.verdicts, &verdict{test: "TestMain", failed: true, took: r.took, output: r.output + failed.Error()})
	}
	return r, nil
}

// runGo runs the go command in a tree. When the limit is over, it kills the
// command and everything that the command started.
func runGo(t tree, limit time.Duration, arguments ...string) (out []byte, failed error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = t.directory
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	command.WaitDelay = time.Second
	var both bytes.Buffer
	command.Stdout, command.Stderr = &both, &both
	failed = command.Run()
	if ctx.Err() != nil {
		failed = fmt.Errorf("%w within %v", errTimeOver, limit)
	}
	return both.Bytes(), failed
}

// A report is the result of one go test -json.
type report struct {
	verdicts   []*verdict // of the top-level tests, in the order of their start
	output     string     // outside of tests
	began      time.Time
	took       time.Duration // by all tests together
	uncompiled bool
}

// A verdict is the result of one top-level test.
type verdict struct {
	test          string
	failed, ended bool
	output        string
	began         time.Time
	// took is the time from the start of the test to its last event. go test
	// reports the time only of tests that ended, and only in hundredths of a
	// second.
	took time.Duration
}

// An event is one line of go test -json: see go doc test2json.
type event struct {
	Time                 time.Time
	Action, Test, Output string
}

func readEvents(out []byte) (r report) {
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			r.output = keep(r.output, string(line)) // of the go command itself
			continue
		}
		r.add(e)
	}
	for _, v := range r.verdicts {
		v.failed = v.failed || !v.ended // it was running when the command ended
	}
	return r
}

func (r *report) add(e event) {
	test, _, isSubtest := strings.Cut(e.Test, "/")
	switch {
	case e.Action == "build-fail":
		r.uncompiled = true
	case e.Action == "start":
		r.began = e.Time
	case test == "":
		r.output = keep(r.output, e.Output)
		r.took = e.Time.Sub(r.began)
	default:
		r.verdictOn(test, e.Time).add(e, isSubtest)
	}
}

func (v *verdict) add(e event, isSubtest bool) {
	v.took = e.Time.Sub(v.began)
	switch {
	case e.Action == "output":
		v.output = keep(v.output, e.Output)
	case isSubtest:
	case e.Action == "fail" || e.Action == "pass" || e.Action == "skip":
		v.failed, v.ended = e.Action == "fail", true
	}
}

// progress matches the lines that go test prints about each subtest.
var progress = regexp.MustCompile(`^\s*(=== |--- PASS)`)

// keep appends more to output, except for progress and what exceeds a limit. A
// deadlock prints every goroutine, and there may be thousands.
func keep(output, more string) string {
	if len(output) > 1<<14 || progress.MatchString(more) {
		return output
	}
	return output + more
}

// verdictOn returns the verdict of a test. If it has none, the test begins now.
func (r *report) verdictOn(test string, now time.Time) *verdict {
	i := slices.IndexFunc(r.verdicts, func(v *verdict) bool { return v.test == test })
	if i < 0 {
		i = len(r.verdicts)
		r.verdicts = append(r.verdicts, &verdict{test: test, began: now})
	}
	return r.verdicts[i]
}

func (r *report) failed() (failed []*verdict) {
	for _, v := range r.verdicts {
		if v.failed {
			failed = append(failed, v)
		}
	}
	return failed
}

var (
	// cause matches the lines of a test's output that say why it failed.
	cause = regexp.MustCompile(`^(\w+\.go:\d+:( .*)?|panic: .*|fatal error: .*|WARNING: DATA RACE|Error:\s.*)$`)
	// noise matches the parts of these lines that reason removes.
	noise = regexp.MustCompile(`^\w+\.go:\d+:\s*|^panic: |^fatal error: |^Error:\s+|\[rapid\] | \[recovered.*\]$`)
)

// reason returns the first line of a test's output that says why it failed.
func (v *verdict) reason() string {
	for line := range strings.Lines(v.output) {
		if line = strings.TrimSpace(line); !cause.MatchString(line) {
			continue
		}
		if text := strings.TrimSpace(noise.ReplaceAllString(line, "")); text != "" {
			return text
		}
	}
	return strings.TrimSpace(v.output)
}
