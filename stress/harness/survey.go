package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A survey asks which promises a target breaks: rounds of each theme, each in a
// process of its own, since some of them end the process, and others hang.

// theme is a kind of trouble.
type theme struct {
	name   string
	mix    Ingredients
	ending Ending
}

var themes = []theme{
	{"adds, bursts, adds while processing; drain", Readd | Bursts | Onlookers, Drain},
	{"ShutDown during drains", Readd, DrainThenShutDown},
	{"shutdowns from many sides", Readd, Storm},
	{"adds, bursts, adds while processing; rest", Readd | Bursts | Onlookers, Rest},
	{"delays and reschedules; rest", Delays | Reschedules | Bursts, Rest},
	{"rate limits and forgets; rest", RateLimited, Rest},
	{"workers that panic or call Goexit; rest", Deaths | Readd, Rest},
	{"a second Done, Done without Get; rest", Misuse | Readd, Rest},
	{"items not equal to themselves; rest", NaN, Rest},
	{"limiters that panic; rest", Panics | RateLimited, Rest},
	{"many small queues, dropped", Delays, Small},
}

// verdict is what came of a theme's rounds.
type verdict struct {
	rounds int
	broken map[string]int // rounds that broke a clause, by clause
	says   map[string]string
}

const surveyRounds = 10

// survey runs the rounds of all themes and prints a table.
func (c Command) survey(o Options) error {
	fmt.Fprintf(o.Out, "| %s under | rounds | broken | the first message |\n|---|---:|---|---|\n", o.Target.Name)
	for _, t := range themes {
		v := verdict{broken: map[string]int{}, says: map[string]string{}}
		for n := range surveyRounds {
			clause, message := o.child(t, o.Seed+uint64(n))
			v.rounds++
			if clause != "" {
				v.broken[clause]++
				if v.says[clause] == "" {
					v.says[clause] = message
				}
			}
		}
		v.print(o.Out, t.name)
	}
	return nil
}

func (v verdict) print(out io.Writer, theme string) {
	var clauses, messages []string
	for clause := range v.broken {
		clauses = append(clauses, clause)
	}
	slices.Sort(clauses)
	for i, clause := range clauses {
		messages = append(messages, v.says[clause])
		clauses[i] = fmt.Sprintf("%s in %d", clause, v.broken[clause])
	}
	if len(clauses) == 0 {
		clauses = []string{"nothing"}
	}
	fmt.Fprintf(out, "| %s | %d | %s | %s |\n", theme, v.rounds, strings.Join(clauses, ", "), strings.Join(messages, "; "))
}

// childTime is how long a round may take before it counts as hanging altogether.
const childTime = 2 * time.Minute

// child runs one round in a process of its own, and returns what it broke.
func (o Options) child(t theme, seed uint64) (clause, message string) {
	ctx, cancel := context.WithTimeout(context.Background(), childTime)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return "error", err.Error()
	}
	command := exec.CommandContext(ctx, self,
		"-target", o.Target.Name, "-rounds", "1", "-provoke", "-patience", "10s",
		"-seed", fmt.Sprint(seed), "-adds", fmt.Sprint(o.Limits.Adds),
		"-mix", t.mix.String(), "-ending", t.ending.String())
	var output bytes.Buffer
	command.Stderr = &output
	if command.Run() == nil {
		return "", ""
	}
	return o.read(output.String())
}

// read finds the clause in what a process said before it died.
func (o Options) read(said string) (clause, message string) {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if clause, message, ok := strings.Cut(line, " violated: "); ok {
			return clause, strings.TrimSuffix(message, "; this part of it is enough:")
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return "C17", "the process ended: " + line
		}
	}
	return "C4", "the process was killed after " + childTime.String()
}
