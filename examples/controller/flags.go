package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// config is what the flags say, checked.
type config struct {
	duration     time.Duration
	patience     time.Duration
	tenants      int
	objects      int
	workers      int
	flood        int
	fail         float64
	seed         uint64
	noPriorities bool
	noGroups     bool
	database     string // empty: a temporary file
	stuck        time.Duration
	listen       string // empty: nothing is served
}

const usageHead = `Usage: controller [flags]

Reconciles the objects of several tenants, desired and observed state in SQLite, by way of
a simulated API that is slow and fails, and proves that it came to its end. It begins with
all objects to look at (the initial list), while the tenants go on changing theirs; at half
the time one tenant floods the queue.

`

const usageTail = `
Of the calls that -fail makes fail, most get an error, a third are told to come later, some
hang until their timeout, some panic, and some are acknowledged and lost. One spec in a
hundred is refused for good, whatever -fail says.

Exit codes: 0 at the end every object is as desired, or was refused, also after an
interrupt; 1 it is not, or the -patience was over before; 2 a flag or the database is
unusable and nothing was done; 130 a second interrupt stopped the program at once.
`

// parseFlags returns the configuration, [flag.ErrHelp], or an error that names every fault.
func parseFlags(arguments []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // or else an error is followed by the whole usage
	flags.DurationVar(&c.duration, "duration", 8*time.Second, "how long the tenants go on changing their objects")
	flags.DurationVar(&c.patience, "patience", 15*time.Second, "how long the drain may take afterwards, until every object is settled")
	flags.IntVar(&c.tenants, "tenants", 4, "tenants that change an object now and then, beside the one that floods")
	flags.IntVar(&c.objects, "objects", 500, "objects of each tenant; the one that floods has ten times as many")
	flags.IntVar(&c.workers, "workers", 16, "goroutines that reconcile")
	flags.IntVar(&c.flood, "flood", 20_000, "changes that the flooding tenant makes at once, at half the duration")
	flags.Float64Var(&c.fail, "fail", 0.05, "`share` of the API's calls that fail, 0 to 1")
	flags.Uint64Var(&c.seed, "seed", 1, "seed of what is changed and of what fails")
	flags.BoolVar(&c.noPriorities, "no-priorities", false, "the initial list has the priority of a change")
	flags.BoolVar(&c.noGroups, "no-groups", false, "the tenants have no turns and no limit: whoever comes first is served first")
	flags.StringVar(&c.database, "db", "", "SQLite database `file` to go on with or create (default a temporary one, removed at the end)")
	flags.DurationVar(&c.stuck, "stuck", 0, "how long the first call for "+stuckObject.String()+" takes, which heeds no timeout: to be found on the page")
	flags.StringVar(&c.listen, "listen", "", "`address` on which to serve a live page and /metrics meanwhile, such as 127.0.0.1:6060")
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(stderr)
		fmt.Fprint(stderr, usageHead)
		flags.PrintDefaults()
		fmt.Fprint(stderr, usageTail)
	}
	if err != nil {
		return config{}, err
	}
	if flags.NArg() > 0 {
		return config{}, fmt.Errorf("unexpected argument %q: there are only flags, see -h", flags.Arg(0))
	}
	return c, c.validate()
}

// validate returns one error that names every fault, or nil.
func (c config) validate() error {
	var faults []error
	require := func(ok bool, format string, arguments ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, arguments...))
		}
	}
	require(c.duration >= 0, "-duration %v: want 0 or more", c.duration)
	require(c.patience >= 0, "-patience %v: want 0 or more", c.patience)
	require(c.tenants >= 0, "-tenants %d: want 0 or more", c.tenants)
	require(c.objects > 0, "-objects %d: want at least 1", c.objects)
	require(c.workers > 0, "-workers %d: want at least 1", c.workers)
	require(c.flood >= 0, "-flood %d: want 0 or more", c.flood)
	require(c.stuck >= 0, "-stuck %v: want 0 or more", c.stuck)
	require(c.fail >= 0 && c.fail <= 1, "-fail %v: want 0 to 1", c.fail)
	return errors.Join(faults...)
}
