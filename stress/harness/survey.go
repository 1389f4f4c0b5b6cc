package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A survey finds the promises that a target breaks. It runs rounds of each
// theme, each in its own process, because some of them end the process, and
// others hang.

// theme is a kind of round.
type theme struct {
	name   string
	mix    Ingredients
	ending Ending
}

var themes = []theme{
	{"adds, bursts, adds while processing; drain", Readd | Bursts | Observers, Drain},
	{"ShutDown during drains", Readd, DrainThenShutDown},
	{"shutdowns from many sides", Readd, Storm},
	{"adds, bursts, adds while processing; rest", Readd | Bursts | Observers, Rest},
	{"delays and reschedules; rest", Delays | Reschedules | Bursts, Rest},
	{"rate limits and forgets; rest", RateLimited, Rest},
	{"workers that panic or call Goexit; rest", Deaths | Readd, Rest},
	{"a second Done, Done without Get; rest", Misuse | Readd, Rest},
	{"items not equal to themselves; rest", NaN, Rest},
	{"limiters that panic; rest", Panics | RateLimited, Rest},
	{"many small queues, dropped", Delays, Small},
}

// verdict is the result of a theme's rounds.
type verdict struct {
	rounds int
	broken map[string]int // the number of rounds that broke a clause
	says   map[string]string
}

// The defaults of a survey: the rounds of each theme, and the time without
// progress that counts as a hang.
const (
	surveyRounds   = 10
	surveyPatience = 10 * time.Second
)

// survey runs the rounds of all themes and prints a table.
func survey(o Options) error {
	fmt.Fprintf(o.Out, "| %s under | rounds | broken | the first message |\n|---|---:|---|---|\n", o.Target.Name)
	for _, t := range themes {
		v := verdict{rounds: o.Rounds, broken: map[string]int{}, says: map[string]string{}}
		for n := range o.Rounds {
			clause, message, err := o.child(t, o.Seed+uint64(n))
			if err != nil {
				return err
			}
			v.add(clause, message)
		}
		v.print(o.Out, t.name)
	}
	return nil
}

// add records the result of a round. The clause is empty if nothing was broken.
func (v verdict) add(clause, message string) {
	if clause == "" {
		return
	}
	v.broken[clause]++
	if v.says[clause] == "" {
		v.says[clause] = message
	}
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

// childTime is the time, beyond its patience, after which a round counts as
// hanging.
const childTime = 2 * time.Minute

// child runs one round in its own process, and returns what it broke.
func (o Options) child(t theme, seed uint64) (clause, message string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), childTime+o.Patience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	command := exec.CommandContext(ctx, self, o.childFlags(t, seed)...)
	var output bytes.Buffer
	command.Stderr = &output
	err = command.Run()
	var died *exec.ExitError
	switch {
	case err == nil:
		return "", "", nil
	case ctx.Err() != nil:
		return "C4", fmt.Sprintf("it hung, and was killed after %v", childTime+o.Patience), nil
	case !errors.As(err, &died):
		return "", "", fmt.Errorf("a round of the survey did not start: %w", err)
	}
	clause, message = deathOf(output.String(), died.String())
	return clause, message, nil
}

func (o Options) childFlags(t theme, seed uint64) []string {
	return []string{
		"-target", o.Target.Name, "-rounds", "1", "-provoke", "-patience", o.Patience.String(),
		"-seed", fmt.Sprint(seed), "-adds", fmt.Sprint(o.Limits.Adds), "-shards", fmt.Sprint(o.Limits.Shards),
		"-mix", t.mix.String(), "-ending", t.ending.String(),
	}
}

// unexplained stands for a clause when a process died without a message.
const unexplained = "unexplained"

// deathOf finds the clause in the output of a process that died. state is how
// it died, such as "exit status 3".
func deathOf(said, state string) (clause, message string) {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if clause, message, ok := strings.Cut(line, " violated: "); ok {
			return clause, message
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return "C17", "the process ended: " + line
		}
	}
	return unexplained, "the process ended: " + state
}
