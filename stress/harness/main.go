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
	// Run is how users start it, such as "go run -race ./stress".
	Run     string
	Targets []Target
	// Regressions are rounds that found something once, one a line: the flags of
	// the round, and after a # what it found. They are run first.
	Regressions string
}

// Main runs the command with some arguments, and returns its exit code.
func (c Command) Main(arguments []string, out, errs io.Writer) int {
	options, survey, err := c.parse(arguments, out, errs)
	switch {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		fmt.Fprintln(errs, "stress:", err)
		return 2
	case survey:
		err = c.survey(options)
	default:
		err = c.run(options)
	}
	if err != nil {
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
		once, _, err := c.parse(strings.Fields(line), io.Discard, io.Discard)
		if err != nil {
			return fmt.Errorf("regression %q: %w", lines.Text(), err)
		}
		once.Target, once.Command, once.Patience = o.Target, o.Command, o.Patience
		if err := Run(once); err != nil {
			return fmt.Errorf("regression %q: %w", lines.Text(), err)
		}
	}
	return nil
}

func (c Command) parse(arguments []string, out, errs io.Writer) (o Options, survey bool, err error) {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.SetOutput(errs)
	target := flags.String("target", c.Targets[0].Name, "what to put to the test: "+c.names())
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, "how long to go on starting rounds")
	flags.IntVar(&o.Rounds, "rounds", 0, "stop after so many rounds (0: only after the duration; 1: repeat one)")
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the first round; each round adds one")
	flags.IntVar(&o.Limits.Adds, "adds", 50_000, "adds in a round, roughly")
	flags.IntVar(&o.Limits.Shards, "shards", 0, "number of shards (0: each round draws its own)")
	mix := flags.String("mix", "all", "what rounds may have in their mix: all, none, or some of "+strings.Join(ingredientNames[:], ","))
	ending := flags.String("ending", "any", "how rounds end: any, drain, storm, drain-then-shutdown, rest, small")
	flags.BoolVar(&o.Limits.Provoke, "provoke", false, "leave in the mix what the target is known not to survive")
	flags.DurationVar(&o.Patience, "patience", time.Minute, "how long nothing may happen before that counts as a hang")
	flags.BoolVar(&o.Verbose, "v", false, "print a line for each round")
	flags.BoolVar(&survey, "survey", false, "go on after a violation, with each round in a process of its own, and print a table of the clauses that were broken")
	if err := flags.Parse(arguments); err != nil {
		return o, false, err
	}
	o.Out = out
	var faults []error
	fault := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	o.Limits.Mix, err = ParseIngredients(*mix)
	fault(err)
	o.Limits.Ending, err = ParseEnding(*ending)
	fault(err)
	o.Target, err = c.target(*target)
	fault(err)
	fault(o.validate(flags.Args()))
	o.Command = c.Run
	if *target != c.Targets[0].Name {
		o.Command += " -target " + *target
	}
	return o, survey, errors.Join(faults...)
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
