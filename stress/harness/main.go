package harness

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Command is a stress program with its targets.
type Command struct {
	// Package is the argument of "go run" in the directory of Module. Module is
	// empty if the package is in the current module.
	Package, Module string
	Targets         []Target
	// Regressions are rounds that once found a fault, one in each line: the
	// flags of the round, and after a # the fault. They run first. A line with
	// another -target is skipped.
	Regressions string
}

// line returns the command line, with the build flags of this program.
func (c Command) line(target string) string {
	text := "go run"
	if c.Module != "" {
		text += " -C " + c.Module
	}
	if raceDetector {
		text += " -race"
	}
	return text + " " + c.Package + " -target " + target
}

// Main runs the command with arguments, and returns its exit code. The code is
// 0 if no promise was broken, or a survey was completed. It is 1 if a promise
// was broken or a round hung. It is 2 if the arguments are invalid, or a survey
// failed.
func (c Command) Main(arguments []string, out, errs io.Writer) int {
	parsed, err := c.parse(arguments, out, errs)
	switch {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		fmt.Fprintln(errs, "stress:", err)
		return 2
	case parsed.survey:
		if err := survey(parsed.Options); err != nil {
			fmt.Fprintln(errs, "stress:", err)
			return 2
		}
		return 0
	}
	if err := c.run(parsed.Options); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

func (c Command) run(o Options) error {
	if o.Rounds != 1 { // a single round is a repetition
		if err := c.rerun(o); err != nil {
			return err
		}
	}
	return Run(o)
}

// rerun runs the regressions.
func (c Command) rerun(o Options) error {
	lines := bufio.NewScanner(strings.NewReader(c.Regressions))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		once, err := c.parse(strings.Fields(line), io.Discard, io.Discard)
		switch {
		case err != nil:
		case once.survey:
			err = errors.New("want a round, not a survey")
		case once.given["target"] && once.Target.Name != o.Target.Name:
			continue
		default:
			once.Target, once.Command, once.Patience = o.Target, o.Command, o.Patience
			err = Run(once.Options)
		}
		if err != nil {
			return fmt.Errorf("regression %q: %w", lines.Text(), err)
		}
	}
	return nil
}

// parsed is a parsed command line.
type parsed struct {
	Options
	survey bool
	given  map[string]bool // the flags that were set
}

// defaultDuration applies if neither the duration nor the number of rounds is
// set.
const defaultDuration = 10 * time.Second

func (c Command) parse(arguments []string, out, errs io.Writer) (p parsed, err error) {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.SetOutput(errs)
	target := flags.String("target", c.Targets[0].Name, "the queue to test: "+c.names())
	flags.DurationVar(&p.Duration, "duration", defaultDuration, "the time during which new rounds start; there is always one round (with -rounds alone: no limit)")
	flags.IntVar(&p.Rounds, "rounds", 0, "the number of rounds (0: until the duration is over; 1: repeat one round; in a survey: rounds of each theme)")
	flags.Uint64Var(&p.Seed, "seed", 1, "the seed of the first round; each round adds one")
	flags.IntVar(&p.Limits.Adds, "adds", 50_000, "the approximate number of adds in a round")
	flags.IntVar(&p.Limits.Shards, "shards", 0, "the number of shards (0: drawn by each round)")
	mix := flags.String("mix", "all", "the ingredients that rounds may have: all, none, or a list of "+strings.Join(ingredientNames[:], ","))
	ending := flags.String("ending", "any", "the ending of rounds: any, drain, storm, drain-then-shutdown, rest, small, drain-context (small drops many small queues; any leaves it out for targets that need a ShutDown)")
	flags.BoolVar(&p.Limits.Provoke, "provoke", false, "include ingredients that the target is known not to survive")
	flags.DurationVar(&p.Patience, "patience", time.Minute, "the time without progress that counts as a hang (in a survey: 10s)")
	flags.BoolVar(&p.Verbose, "v", false, "print a line for each round")
	flags.BoolVar(&p.survey, "survey", false, "continue after a violation, run each round in its own process, and print a table of the broken clauses; the exit status is always 0")
	if err := flags.Parse(arguments); err != nil {
		return p, err
	}
	p.given = map[string]bool{}
	flags.Visit(func(f *flag.Flag) { p.given[f.Name] = true })
	p.Out = out
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	p.Limits.Mix, err = ParseIngredients(*mix)
	fault(err)
	p.Limits.Ending, err = ParseEnding(*ending)
	fault(err)
	p.Target, err = c.target(*target)
	fault(err)
	fault(p.validate(flags.Args()))
	fault(p.complete())
	p.Command = c.line(*target)
	return p, errors.Join(faults...)
}

// complete sets the defaults that depend on other flags.
func (p *parsed) complete() error {
	if p.Rounds > 0 && !p.given["duration"] {
		p.Duration = 0
	}
	if !p.survey {
		return nil
	}
	for _, name := range []string{"mix", "ending", "duration", "provoke", "v"} {
		if p.given[name] {
			return fmt.Errorf("-survey sets -%s itself: want only one of them", name)
		}
	}
	if p.Rounds == 0 {
		p.Rounds = surveyRounds
	}
	if !p.given["patience"] {
		p.Patience = surveyPatience
	}
	return nil
}

func (o Options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("want flags only, got %q", rest)
	case o.Duration <= 0 || o.Patience <= 0:
		return errors.New("want -duration and -patience above 0")
	case o.Rounds < 0:
		return errors.New("want -rounds of at least 0")
	case o.Limits.Adds < 10:
		return errors.New("want -adds of at least 10")
	case o.Limits.Shards < 0 || o.Limits.Shards > 4096:
		return errors.New("want -shards of 0 to 4096")
	}
	return nil
}

func (c Command) target(name string) (Target, error) {
	for _, t := range c.Targets {
		if t.Name == name {
			return t, nil
		}
	}
	return Target{}, fmt.Errorf("unknown target %q: want one of %s", name, c.names())
}

func (c Command) names() string {
	var names []string
	for _, t := range c.Targets {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// Exit runs the command with the arguments of the process, and exits.
func (c Command) Exit() { os.Exit(c.Main(os.Args[1:], os.Stdout, os.Stderr)) }
