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

// config is what the flags say, checked.
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
	listen     string // empty: nothing is served
}

const usageHead = `Usage: ingest [flags]

Counts the keys of a stream into a SQLite database, through a work queue that
coalesces the writes per key, and proves that every event arrived. With no flags:
the identifiers in the source of the Go installation, into a temporary database.

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

A malformed record is named, counted and skipped. The counts of a run are kept
under a number of its own, in the tables ingest_runs and ingest_counts; the view
ingest_totals adds the runs up. Nothing else in the database is touched.

Exit codes: 0 everything that was read is in the database, also after an
interrupt; 1 it is not, or the -patience was over before, or a file could not be
read to its end, or all records were malformed, or -strict stopped; 2 a flag, the
input or the database is unusable and nothing was done; 130 a second interrupt
stopped the program at once.
`

// parseFlags returns the configuration, [flag.ErrHelp], or an error that names
// every fault.
func parseFlags(arguments []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("ingest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.input, "input", "", "`file`, directory, or - for standard input (default the Go installation's src)")
	flags.StringVar(&c.format, "format", "", "`format` of the input: "+strings.Join(formatNames(), ", ")+" (default by the file's name)")
	flags.StringVar(&c.key, "key", "", "which `part` of a record is its key; see below")
	flags.StringVar(&c.database, "db", "", "SQLite database `file` to add to or create (default a temporary one, removed at the end)")
	flags.IntVar(&c.readers, "readers", runtime.GOMAXPROCS(0), "goroutines that read")
	flags.IntVar(&c.workers, "workers", 4, "goroutines that take keys and write them")
	flags.IntVar(&c.shards, "shards", 0, "shards of the queue (default by the number of processors)")
	flags.IntVar(&c.maxPending, "max-pending", 1_000_000, "keys that may wait to be written before reading pauses")
	flags.Float64Var(&c.fail, "fail", 0, "`share` of the writes to make fail, 0 to 1")
	flags.IntVar(&c.attempts, "attempts", 50, "failures of a key in a row after which its value is given up, 0 for never")
	flags.Uint64Var(&c.seed, "seed", 1, "seed of the choice that -fail makes")
	flags.DurationVar(&c.duration, "duration", 0, "stop reading after this long (default at the end of the input)")
	flags.DurationVar(&c.patience, "patience", 15*time.Second, "after a signal or the -duration, how long what was read may take to be written, with its retries")
	flags.BoolVar(&c.strict, "strict", false, "stop at the first malformed record")
	flags.StringVar(&c.listen, "listen", "", "`address` on which to serve a live page and /metrics meanwhile, such as 127.0.0.1:6060")
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

// parseQuietly parses without printing: package flag follows an error with the
// whole usage, which drives the error off the screen.
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

// validate returns one error that names every fault, or nil.
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
