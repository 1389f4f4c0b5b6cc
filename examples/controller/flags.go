package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// config has the values of the flags.
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
	listen       string // empty: no server
}

const usageHead = `Usage: controller [flags]

Reconciles the objects of several tenants through a simulated API that is slow and fails,
with the desired and the observed state in SQLite, and proves the result. It begins with a
list of all objects, while the tenants change theirs. At half time one tenant floods the
queue.

`

const usageTail = `
Of the calls that -fail makes fail, most return an error, a third ask to be repeated later,
some hang until their timeout, some panic, and some are acknowledged and lost. The API
refuses one spec in a hundred for good, whatever -fail says.

Exit codes: 0 every object is in its desired state, or was refused, also after an
interrupt; 1 an object is not, or -patience ended before; 2 a flag or the database is
unusable, and nothing was done; 130 a second interrupt stopped the program at once.
`

// parseFlags returns the configuration, [flag.ErrHelp], or an error that lists
// every fault.
func parseFlags(arguments []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // otherwise the whole usage follows an error
	flags.DurationVar(&c.duration, "duration", 8*time.Second, "the time during which the tenants change their objects")
	flags.DurationVar(&c.patience, "patience", 15*time.Second, "the longest time of the drain afterwards, until every object is settled")
	flags.IntVar(&c.tenants, "tenants", 4, "the number of tenants that change an object now and then, beside the one that floods")
	flags.IntVar(&c.objects, "objects", 500, "the number of objects of each tenant; the one that floods has ten times as many")
	flags.IntVar(&c.workers, "workers", 16, "the number of workers")
	flags.IntVar(&c.flood, "flood", 20_000, "the number of changes that the flooding tenant makes at half the duration")
	flags.Float64Var(&c.fail, "fail", 0.05, "the `share` of API calls that fail, 0 to 1")
	flags.Uint64Var(&c.seed, "seed", 1, "the seed of the changes and the failures")
	flags.BoolVar(&c.noPriorities, "no-priorities", false, "give the initial list the priority of a change")
	flags.BoolVar(&c.noGroups, "no-groups", false, "serve objects in their order, without turns and limits for tenants")
	flags.StringVar(&c.database, "db", "", "the SQLite database `file` to continue or create (default a temporary one, removed at the end)")
	flags.DurationVar(&c.stuck, "stuck", 0, "the time of the first call for "+stuckObject.String()+", which ignores its timeout and is shown on the page")
	flags.StringVar(&c.listen, "listen", "", "the `address` of a live page and /metrics during the run, such as 127.0.0.1:6060")
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

// validate returns one error that lists every fault, or nil.
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
