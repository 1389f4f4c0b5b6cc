// Package spin runs the model checker Spin for the tests of the models.
package spin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardq/shardq/internal/testscale"
)

// A Check is a search of a model's states.
type Check struct {
	// Model is the path of the Promela file.
	Model string
	// Flags are the constants that configure the model: NAME or NAME=value.
	Flags []string
	// Liveness searches for cycles that break the model's formula of temporal
	// logic, under weak fairness, and ignores the model's assertions. If false,
	// the search is for assertions that fail and for deadlocks.
	Liveness bool
	// Shortest searches breadth-first, so that the trail to an error is a
	// shortest one. It costs memory, and does not report which steps were
	// executed.
	Shortest bool
	// Large makes the C compiler optimize the program that searches, which pays
	// if there are many states.
	Large bool
}

// A Result is the result of a search.
type Result struct {
	// Errors is 0 or 1, because a search ends at the first error.
	Errors int
	// Violation is the assertion or formula that was violated.
	Violation string
	// Complete says that all states were searched: neither memory nor depth was
	// too small.
	Complete bool
	States   int
	Elapsed  time.Duration
	// Steps are the lines of the model with an executed statement.
	Steps map[int]bool
	// Trail lists the steps that lead to the violation.
	Trail string
}

// These are limits of pan, the program that Spin writes: the depth of the
// search in steps, and its memory in MiB.
const (
	depth  = "100000"
	memory = "4000"
)

// Require skips the test if Spin or a C compiler is missing. If
// SHARDQ_REQUIRE_SPIN is 1, the test fails instead.
func Require(t *testing.T) {
	t.Helper()
	for _, program := range []string{"spin", "cc"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		message := fmt.Sprintf("%s is not installed: on Debian and Ubuntu, apt-get install spin gcc", program)
		if os.Getenv("SHARDQ_REQUIRE_SPIN") == "1" {
			t.Fatal(message)
		}
		t.Skip(message)
	}
}

// Long skips a search that takes minutes, unless SHARDQ_SOAK is 1.
func Long(t *testing.T) {
	t.Helper()
	if os.Getenv("SHARDQ_SOAK") != "1" {
		t.Skip("long: set SHARDQ_SOAK=1")
	}
}

// Some returns a part of the configurations or variants of a model, evenly
// spread. It returns all of them at full scale, and if SHARDQ_SOAK is 1.
func Some[T any](all []T) []T {
	n := min(testscale.N(len(all)), len(all))
	if os.Getenv("SHARDQ_SOAK") == "1" {
		n = len(all)
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}

// Run makes a search and logs its size and time.
func Run(t *testing.T, check Check) Result {
	t.Helper()
	Require(t)
	start := time.Now()
	directory := t.TempDir()
	// Reading the model here makes the test's cached result depend on it.
	model, err := os.ReadFile(check.Model)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "model.pml"), model, 0o600); err != nil {
		t.Fatal(err)
	}
	flags := prefixed("-D", check.Flags)
	must(t, directory, "spin", append(append([]string{"-a"}, flags...), "model.pml")...)
	must(t, directory, "cc", append(check.compilation(), "-o", "pan", "pan.c")...)
	output := must(t, directory, "./pan", check.arguments()...)
	result := parse(t, output)
	result.Elapsed = time.Since(start)
	if !check.Shortest {
		result.Steps = executed(must(t, directory, "./pan", "-d"), output)
	}
	if result.Errors > 0 {
		result.Trail = must(t, directory, "spin", append(append([]string{"-p", "-k", "model.pml.trail"}, flags...), "model.pml")...)
	}
	t.Logf("%d states in %v, with the time to compile: %s", result.States, result.Elapsed.Round(10*time.Millisecond), strings.Join(check.Flags, " "))
	return result
}

func (c Check) compilation() []string {
	options := []string{"-w", "-O0", "-DMEMLIM=" + memory}
	if c.Large {
		options[1] = "-O2"
	}
	switch {
	case c.Liveness:
		// Spin's reduction works only without fairness.
		return append(options, "-DNOREDUCE", "-DNFAIR=4")
	case c.Shortest:
		return append(options, "-DSAFETY", "-DBFS")
	default:
		return append(options, "-DSAFETY")
	}
}

func (c Check) arguments() []string {
	arguments := []string{"-m" + depth}
	if c.Liveness {
		arguments = append(arguments, "-a", "-f", "-A")
	}
	return arguments
}

func prefixed(prefix string, words []string) []string {
	var all []string
	for _, word := range words {
		all = append(all, prefix+word)
	}
	return all
}

// must runs a program and returns its output.
func must(t *testing.T, directory, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = directory
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

var (
	errorCount = regexp.MustCompile(`errors: (\d+)`)
	stateCount = regexp.MustCompile(`(?m)^\s*([\d.e+]+) states, stored`)
	violation  = regexp.MustCompile(`(?m)^pan:1: (.*?)(?: \(at depth \d+\))?$`)
	truncated  = regexp.MustCompile(`max search depth too small|Search not completed|memory limit|out of memory|MEMLIM`)
)

func parse(t *testing.T, output string) Result {
	t.Helper()
	count, states := errorCount.FindStringSubmatch(output), stateCount.FindStringSubmatch(output)
	if count == nil || states == nil {
		t.Fatalf("the search did not end:\n%s", output)
	}
	result := Result{Complete: !truncated.MatchString(output)}
	result.Errors, _ = strconv.Atoi(count[1])
	stored, err := strconv.ParseFloat(states[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	result.States = int(stored)
	if match := violation.FindStringSubmatch(output); match != nil {
		result.Violation = strings.TrimPrefix(match[1], "assertion violated ")
	}
	return result
}

var (
	process    = regexp.MustCompile(`^(?:proctype|init|claim|unreached in (?:proctype|claim|init))\s*(\w*)`)
	transition = regexp.MustCompile(`^\s*state\s+(\d+) -\(.*model\.pml:(\d+) =>`)
	unreached  = regexp.MustCompile(`^\s*model\.pml:(\d+), state (\d+),`)
)

// executed returns the lines of the model with a statement that a search
// executed: those of the table of transitions without those that the search
// reports as unreached.
func executed(transitions, output string) map[int]bool {
	missed := map[string]bool{}
	each(output, unreached, func(process string, match []string) { missed[process+match[2]] = true })
	lines := map[int]bool{}
	each(transitions, transition, func(process string, match []string) {
		if line, err := strconv.Atoi(match[2]); err == nil && !missed[process+match[1]] {
			lines[line] = true
		}
	})
	return lines
}

// each calls visit for the lines that match, with the name of their process.
func each(text string, pattern *regexp.Regexp, visit func(process string, match []string)) {
	name := ""
	for line := range strings.Lines(text) {
		if match := process.FindStringSubmatch(line); match != nil {
			name = match[1] + " "
		} else if match := pattern.FindStringSubmatch(line); match != nil {
			visit(name, match)
		}
	}
}
