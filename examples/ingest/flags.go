package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// config has the values of the flags.
type config struct {
	input, format, key, database, listen   string
	readers, workers, maxPending, attempts int
	fail                                   float64
	duration, patience                     time.Duration
}

const usage = `
-key, by format:
  go      None: each identifier is an event.
  lines   A regular expression, whose first group, or the group named "key", is the
          key. Default: the whole line.
  ndjson  The path of the key in each value, as in user.name or items.0.id.
Without -format: go for .go, ndjson for .ndjson and .jsonl, lines for any other
file. Of a directory, all files of the format are read.

Exit codes: 0 every event that was read is in the database, 1 one is not, or a file
was cut short, 2 nothing was done, 130 a second interrupt.
`

// parseFlags returns the configuration, [flag.ErrHelp], or another error.
func parseFlags(arguments []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("ingest", flag.ContinueOnError)
	flags.StringVar(&c.input, "input", "", "the `file` or directory to read, or - for standard input (default the Go installation's src)")
	flags.StringVar(&c.format, "format", "", "the `format` of the input: "+strings.Join(formats, ", ")+" (default by the file's name)")
	flags.StringVar(&c.key, "key", "", "the `part` of a record that is its key; see below")
	flags.StringVar(&c.database, "db", "", "the SQLite database `file` to add to or create (default a temporary one, removed at the end)")
	flags.IntVar(&c.readers, "readers", runtime.GOMAXPROCS(0), "the number of readers, which read a file each")
	flags.IntVar(&c.workers, "workers", 4, "the number of workers")
	flags.IntVar(&c.maxPending, "max-pending", 1_000_000, "the number of pending keys at which reading pauses, 0 for no limit")
	flags.Float64Var(&c.fail, "fail", 0, "the `share` of transactions that fail, 0 to 1")
	flags.IntVar(&c.attempts, "attempts", 50, "the failures of a key in a row after which its value is discarded, 0 for never")
	flags.DurationVar(&c.duration, "duration", 0, "stop reading after this long (default at the end of the input)")
	flags.DurationVar(&c.patience, "patience", 15*time.Second, "the longest time to write what was read, with retries, after a signal or -duration")
	flags.StringVar(&c.listen, "listen", "", "the `address` of a live page and /metrics during the run, such as 127.0.0.1:6060")
	flags.SetOutput(io.Discard) // the usage after an error would hide the error
	if err = flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, "Usage: ingest [flags]\n\nCounts the keys of a stream in a SQLite database.\n\n")
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		fmt.Fprint(stderr, usage)
	}
	switch {
	case err != nil:
		return c, err
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q: name an input with -input", flags.Arg(0))
	case c.format != "" && !slices.Contains(formats, c.format):
		return c, fmt.Errorf("-format %q: want one of %s", c.format, strings.Join(formats, ", "))
	case c.readers < 1:
		return c, fmt.Errorf("-readers %d: want at least 1", c.readers)
	case !(c.fail >= 0 && c.fail <= 1): // or NaN
		return c, fmt.Errorf("-fail %v: want 0 to 1", c.fail)
	case c.fail == 1 && c.attempts == 0:
		return c, errors.New("-fail 1 with -attempts 0 would never end: no write ever succeeds")
	}
	return c, nil
}
