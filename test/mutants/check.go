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

// arguments returns those of the go command that runs the check. With -trimpath what
// was compiled in one copy serves in the others.
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

// String returns the check as one would type it.
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

// grace is what a check may take beyond its time limit: to compile, and to end.
const grace = 5 * time.Minute

// errTimeOver says that the time of a check was over.
var errTimeOver = errors.New("did not end")

// errCompile says that what was to be tested does not compile.
var errCompile = errors.New("does not compile")

// run runs the check in a tree. The report says how it went; the error, that it did not
// run at all.
func (c check) run(t tree, limit time.Duration) (report, error) {
	out, failed := runGo(t, limit+grace, c.arguments(limit)...)
	return readEvents(out).judge(failed)
}

// judge says whether the check ran, and if it died in no test's hands, that this is a failure, too.
func (r report) judge(failed error) (report, error) {
	switch {
	case r.uncompiled:
		return r, fmt.Errorf("%w: %s", errCompile, r.output)
	case errors.Is(failed, errTimeOver) && len(r.verdicts) == 0: // it may have been compiling all the time
		return r, fmt.Errorf("no test began: %w", failed)
	case failed != nil && len(r.failed()) == 0: // it died in no test's hands
		r.verdicts = append(r.verdicts, &verdict{test: "TestMain", failed: true, took: r.took, output: r.output + failed.Error()})
	}
	return r, nil
}

// runGo runs the go command in a tree, and kills it with all that it started when its
// time is over.
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

// report is what go test -json told.
type report struct {
	verdicts   []*verdict // on the tests at the top, in the order of their start
	output     string     // of no test
	began      time.Time
	took       time.Duration // by all tests
	uncompiled bool
}

type verdict struct {
	test          string
	failed, ended bool
	output        string
	began         time.Time
	// took is how long it was at work, until it ended or was heard of last. go test
	// says it of those alone that ended, and in hundredths of a second.
	took time.Duration
}

// event is what one line of go test -json says: see go doc test2json.
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
		v.failed = v.failed || !v.ended // it was at work when all ended
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

// progress marks what go test says of each subtest.
var progress = regexp.MustCompile(`^\s*(=== |--- PASS)`)

// keep appends to an output what may matter of it: its start, without progress. A
// deadlock prints every goroutine, which may be thousands.
func keep(output, more string) string {
	if len(output) > 1<<14 || progress.MatchString(more) {
		return output
	}
	return output + more
}

// verdictOn returns the verdict on a test, which begins now if there is none yet.
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
	// tell marks the lines of a test's output that tell why it failed.
	tell = regexp.MustCompile(`^(\w+\.go:\d+:( .*)?|panic: .*|fatal error: .*|WARNING: DATA RACE|Error:\s.*)$`)
	// noise is cut off them.
	noise = regexp.MustCompile(`^\w+\.go:\d+:\s*|^panic: |^fatal error: |^Error:\s+|\[rapid\] | \[recovered.*\]$`)
)

// reason returns the first line of a test's output that tells why it failed.
func (v *verdict) reason() string {
	for line := range strings.Lines(v.output) {
		if line = strings.TrimSpace(line); !tell.MatchString(line) {
			continue
		}
		if text := strings.TrimSpace(noise.ReplaceAllString(line, "")); text != "" {
			return text
		}
	}
	return strings.TrimSpace(v.output)
}
