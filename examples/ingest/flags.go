package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// config has the values of the flags.
type config struct {
	input      string // empty: the source of the Go installation
	format     string // empty: chosen by the names of the input
	key        string
	database   string // empty: a temporary file
	readers    int
	workers    int
	shards     int
	maxPending int
	fail       float64
	attempts   int
	seed       uint64
	duration   time.Duration
	patience   time.Duration
	strict     bool
	listen     string // empty: no server
}

const usageHead = `Usage: ingest [flags]

Counts the keys of a stream in a SQLite database, through a work queue that
merges the writes of each key, and proves that every event arrived. Without flags
it counts the identifiers in the source of the Go installation, in a temporary
database.

`

const usageTail = `
Formats, and what -key means in each:
  go      Go source; each identifier is an event. No -key.
  lines   each line is an event. -key: a regular expression with one group, or
          with one named "key"; the group's first match in the line is the key.
          Without it the key is the whole line.
  ndjson  one JSON value per line. -key, required: the path of the key, as in
          user.name or items.0.id (gjson's syntax). Strings, numbers and booleans
          are keys. Blank lines are skipped.
  csv     RFC 4180. -key: the name of a column, and the first record of each file
          is its header; or a column's number from 1, and there is no header.
          Default: 1.
Without -format: go for .go, csv for .csv, ndjson for .ndjson and .jsonl, lines for
any other file and for standard input. A directory is read with all its
subdirectories: the files whose extension belongs to the format; with -format
lines all files but hidden ones. No record may be longer than 16 MiB, nor a Go file.

A malformed record is reported, counted and skipped. The counts of a run are stored
under its own number, in the tables ingest_runs and ingest_counts. The view
ingest_totals adds the runs up. The program does not touch anything else in the
database.

Exit codes: 0 every event that was read is in the database, also after an
interrupt; 1 an event is not, or -patience ended before, or a file could not be
read to its end, or all records were malformed, or -strict stopped; 2 a flag, the
input or the database is unusable, and nothing was done; 130 a second interrupt
stopped the program at once.
`

// parseFlags returns the configuration, [flag.ErrHelp], or an error that lists
// every fault.
func parseFlags(arguments []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("ingest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.input, "input", "", "the `file` or directory to read, or - for standard input (default the Go installation's src)")
	flags.StringVar(&c.format, "format", "", "the `format` of the input: "+strings.Join(formatNames(), ", ")+" (default by the file's name)")
	flags.StringVar(&c.key, "key", "", "the `part` of a record that is its key; see below")
	flags.StringVar(&c.database, "db", "", "the SQLite database `file` to add to or create (default a temporary one, removed at the end)")
	flags.IntVar(&c.readers, "readers", runtime.GOMAXPROCS(0), "the number of readers")
	flags.IntVar(&c.workers, "workers", 4, "the number of workers")
	flags.IntVar(&c.shards, "shards", 0, "the number of shards of the queue (default by the number of processors)")
	flags.IntVar(&c.maxPending, "max-pending", 1_000_000, "the number of pending keys at which reading pauses")
	flags.Float64Var(&c.fail, "fail", 0, "the `share` of writes that fail, 0 to 1")
	flags.IntVar(&c.attempts, "attempts", 50, "the failures of a key in a row after which its value is discarded, 0 for never")
	flags.Uint64Var(&c.seed, "seed", 1, "the seed of -fail")
	flags.DurationVar(&c.duration, "duration", 0, "stop reading after this long (default at the end of the input)")
	flags.DurationVar(&c.patience, "patience", 15*time.Second, "the longest time to write the events that were read, with retries, after a signal or -duration")
	flags.BoolVar(&c.strict, "strict", false, "stop at the first malformed record")
	flags.StringVar(&c.listen, "listen", "", "the `address` of a live page and /metrics during the run, such as 127.0.0.1:6060")
	flags.Usage = func() {
		fmt.Fprint(stderr, usageHead)
		flags.PrintDefaults()
		fmt.Fprint(stderr, usageTail)
	}
	if err := parseQuietly(flags, arguments); err != nil {
		return config{}, err
	}
	if flags.NArg() > 0 {
		return config{}, fmt.Errorf("unexpected argument %q: name an input with -input", flags.Arg(0))
	}
	return c, c.validate()
}

// parseQuietly parses without printing. Package flag prints the whole usage
// after an error, which hides the error.
func parseQuietly(flags *flag.FlagSet, arguments []string) error {
	output, usage := flags.Output(), flags.Usage
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	err := flags.Parse(arguments)
	flags.SetOutput(output)
	if errors.Is(err, flag.ErrHelp) {
		usage()
	}
	return err
}

// validate returns one error that lists every fault, or nil.
func (c config) validate() error {
	var faults []error
	require := func(ok bool, format string, arguments ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, arguments...))
		}
	}
	require(c.format == "" || slices.Contains(formatNames(), c.format),
		"-format %q: want one of %s", c.format, strings.Join(formatNames(), ", "))
	require(c.shards >= 0 && c.shards <= shardq.MaxShards, "-shards %d: want 1 to %d, or 0 for the default", c.shards, shardq.MaxShards)
	require(c.readers > 0, "-readers %d: want at least 1", c.readers)
	require(c.workers > 0, "-workers %d: want at least 1", c.workers)
	require(c.maxPending > 0, "-max-pending %d: want at least 1", c.maxPending)
	require(c.fail >= 0 && c.fail <= 1, "-fail %v: want 0 to 1", c.fail)
	require(c.fail < 1 || c.attempts > 0, "-fail 1 with -attempts 0 would never end: no write ever succeeds")
	require(c.attempts >= 0, "-attempts %d: want 0 or more", c.attempts)
	require(c.duration >= 0, "-duration %v: want 0 or more", c.duration)
	require(c.patience >= 0, "-patience %v: want 0 or more", c.patience)
	return errors.Join(faults...)
}

// keyPattern compiles the -key of the lines format.
func keyPattern(key string) (pattern *regexp.Regexp, group int, err error) {
	pattern, err = regexp.Compile(key)
	if err != nil {
		return nil, 0, fmt.Errorf("-key: %w", err)
	}
	if named := pattern.SubexpIndex("key"); named > 0 {
		return pattern, named, nil
	}
	if groups := pattern.NumSubexp(); groups != 1 {
		return nil, 0, fmt.Errorf("-key %q has %d groups: want one, or one that is named as in (?P<key>...)", key, groups)
	}
	return pattern, 1, nil
}
