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

// Command is a stress program: some targets, and how it is run.
type Command struct {
	// Package is what users start with "go run", in the directory of Module, if that
	// is not the one they are in.
	Package, Module string
	Targets         []Target
	// Regressions are rounds that found something once, one a line: the flags of
	// the round, and after a # what it found. They are run first. A line with a -target
	// is left out where that is not the target.
	Regressions string
}

// line is the command line, built as this program is.
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

// Main runs the command with some arguments, and returns its exit code: 0 if no promise
// was broken, or if a survey came to its end, whatever it found; 1 if one was broken, or
// something hung; 2 if the arguments make no sense, or a survey could not be made.
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
	if o.Rounds != 1 { // a single round is being repeated
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

// parsed is what a command line says.
type parsed struct {
	Options
	survey bool
	given  map[string]bool // the flags that were there
}

// defaultDuration is for a run of which neither the duration nor the number of rounds
// is given.
const defaultDuration = 10 * time.Second

func (c Command) parse(arguments []string, out, errs io.Writer) (p parsed, err error) {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.SetOutput(errs)
	target := flags.String("target", c.Targets[0].Name, "what to put to the test: "+c.names())
	flags.DurationVar(&p.Duration, "duration", defaultDuration, "how long to go on starting rounds, of which there is always one (with -rounds alone: until they are through)")
	flags.IntVar(&p.Rounds, "rounds", 0, "stop after so many rounds (0: only after the duration; 1: repeat one; in a survey: of each kind)")
	flags.Uint64Var(&p.Seed, "seed", 1, "seed of the first round; each round adds one")
	flags.IntVar(&p.Limits.Adds, "adds", 50_000, "adds in a round, roughly")
	flags.IntVar(&p.Limits.Shards, "shards", 0, "number of shards (0: each round draws its own)")
	mix := flags.String("mix", "all", "what rounds may have in their mix: all, none, or some of "+strings.Join(ingredientNames[:], ","))
	ending := flags.String("ending", "any", "how rounds end: any, drain, storm, drain-then-shutdown, rest, small, drain-context (any leaves out small, many small queues that are dropped, for targets that need a ShutDown)")
	flags.BoolVar(&p.Limits.Provoke, "provoke", false, "leave in the mix what the target is known not to survive")
	flags.DurationVar(&p.Patience, "patience", time.Minute, "how long nothing may happen before that counts as a hang (in a survey: 10s)")
	flags.BoolVar(&p.Verbose, "v", false, "print a line for each round")
	flags.BoolVar(&p.survey, "survey", false, "go on after a violation, with each round in a process of its own, and print a table of the clauses that were broken; the exit status is 0, whatever is found")
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

// complete replaces the defaults that depend on other flags.
func (p *parsed) complete() error {
	if p.Rounds > 0 && !p.given["duration"] {
		p.Duration = 0
	}
	if !p.survey {
		return nil
	}
	for _, name := range []string{"mix", "ending", "duration", "provoke", "v"} {
		if p.given[name] {
			return fmt.Errorf("a survey has a -%s of its own: want no such flag beside -survey", name)
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
	return Target{}, fmt.Errorf("no target is called %q: want one of %s", name, c.names())
}

func (c Command) names() string {
	var names []string
	for _, t := range c.Targets {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

// Exit runs the command with the arguments of the process, and ends it.
func (c Command) Exit() { os.Exit(c.Main(os.Args[1:], os.Stdout, os.Stderr)) }
