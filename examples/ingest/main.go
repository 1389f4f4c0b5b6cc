// Command ingest counts the keys of a stream in a SQLite database. A work queue
// merges the writes of each key, and writes them behind the readers. At the end
// the program proves that every event is in the database.
//
// The part of the queue is pipeline.go. Run it with -h for its flags. Without
// flags it counts the identifiers in the source of the Go installation.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

const exitProven, exitFailed, exitUnusable, exitEnded, exitAborted = 0, 1, 2, 3, 130 // see usage

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, signals))
}

// The first signal stops the reading, and the second ends the process.
func run(arguments []string, stdin io.Reader, stdout, stderr io.Writer, signals <-chan os.Signal) int {
	logger := log.New(stderr, "ingest: ", 0)
	config, err := parseFlags(arguments, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitProven
	}
	var job *job
	if err == nil {
		job, err = newJob(config, stdin, logger)
	}
	if err != nil {
		logger.Print(err)
		return exitUnusable
	}
	defer job.sink.discard()
	go func() {
		logger.Printf("%v: reading stops; writing what was read, within %v; another signal stops at once", <-signals, config.patience)
		job.stop(errors.New("interrupted"))
		logger.Printf("%v again: stopped at once, nothing is proven", <-signals)
		job.sink.discard()
		os.Exit(exitAborted)
	}()
	return job.run(stdout)
}

type job struct {
	config   config
	log      *log.Logger
	input    input
	pipeline *pipeline
	listener net.Listener // nil without -listen
	sink     *sink
	ctx      context.Context // ends the reading
	stop     context.CancelCauseFunc
	readers  []*reader
	begun    int64         // events of earlier runs
	elapsed  time.Duration // from the start of reading to the last commit
	ended    error         // why the reading has ended before the end of the input
	failure  error         // of the last positions
}

func newJob(config config, stdin io.Reader, logger *log.Logger) (j *job, err error) {
	j = &job{config: config, log: logger}
	j.ctx, j.stop = context.WithCancelCause(context.Background())
	if j.input, err = openInput(config, stdin); err != nil {
		return nil, err
	}
	if j.pipeline, err = newPipeline(config, logger); err != nil {
		return nil, err
	}
	if config.listen != "" {
		if j.listener, err = net.Listen("tcp", config.listen); err != nil {
			return nil, fmt.Errorf("-listen: %w", err)
		}
	}
	if j.sink, err = openSink(config, j.input, j.stop); err != nil {
		return nil, err
	}
	for number := range j.sink.positions {
		r, err := j.newReader(number)
		if err != nil {
			return nil, err
		}
		j.readers = append(j.readers, r)
	}
	j.sink.logs, j.sink.offsets = j.readers, j.pipeline.events.Offsets
	return j, nil
}

func (j *job) run(stdout io.Writer) int {
	j.log.Printf("reading %q (%s) as %s", j.input.name, plural(len(j.input.files), "file"), j.input.kind)
	if j.sink.complete {
		j.log.Printf("%q has a complete run of it: nothing to do; -again counts anew", j.sink.path)
		return j.conclude(stdout)
	}
	j.log.Printf("writing to %q", j.sink.path)
	if j.begun = j.total().Offset; j.begun > 0 {
		j.log.Printf("going on after the first %s of an earlier run", plural(j.total().Offset, "event"))
	}
	if j.listener != nil {
		defer serve(j.listener, j.pipeline.events.Queue()).Close()
		j.log.Printf("live page at http://%v/ and metrics at http://%[1]v/metrics", j.listener.Addr())
	}
	if j.config.duration > 0 {
		defer time.AfterFunc(j.config.duration, func() { j.stop(errors.New("-duration is over")) }).Stop()
	}
	j.pipeline.begin(j.sink.write)
	end := j.showProgress()
	j.readAll()
	j.ended = context.Cause(j.ctx)
	j.pipeline.finish(j.ctx)
	end()
	j.elapsed = time.Since(j.pipeline.start)
	j.failure = j.sink.finish(j.ended == nil && j.pipeline.left.Load() == 0)
	return j.conclude(stdout)
}

func serve(listener net.Listener, queue shardq.Inspector) *http.Server {
	page, _ := debugpage.New(debugpage.Options{Title: "ingest", Queues: []shardq.Inspector{queue}}) // the options are fixed
	collector, _ := shardqprom.NewCollector(shardqprom.Options{}, queue)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	return server
}

type config struct {
	input, format, database, listen        string
	readers, workers, maxPending, attempts int
	fail                                   float64
	again, verbose                         bool
	duration, patience                     time.Duration
}

const usage = `
-format go counts identifiers, and lines the lines. The default is go for .go, and
lines for any other file. Of a directory, all files of the format are read.
After a crash or a signal, the same command goes on, and no event counts twice.

Exit codes: 0 every event is in the database, 1 one is not, or a file was cut short,
2 nothing was done, 3 it ended before the end of the input, 130 a second interrupt.
`

func parseFlags(arguments []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("ingest", flag.ContinueOnError)
	flags.StringVar(&c.input, "input", "", "the `file` or directory to read, or - for standard input (default the Go installation's src)")
	flags.StringVar(&c.format, "format", "", "the `format` of the input: go or lines (default by the file's name)")
	flags.StringVar(&c.database, "db", "", "the SQLite database `file` to add to or create (default a temporary one, removed at the end)")
	flags.IntVar(&c.readers, "readers", runtime.GOMAXPROCS(0), "the number of readers, which read a file each")
	flags.IntVar(&c.workers, "workers", 4, "the number of workers")
	flags.IntVar(&c.maxPending, "max-pending", 1_000_000, "the number of pending keys at which reading pauses, 0 for no limit")
	flags.Float64Var(&c.fail, "fail", 0, "the `share` of transactions that fail, 0 to 1")
	flags.IntVar(&c.attempts, "attempts", 50, "the failures of a key in a row after which its value is discarded, 0 for never")
	flags.DurationVar(&c.duration, "duration", 0, "stop reading after this long (default at the end of the input)")
	flags.DurationVar(&c.patience, "patience", 15*time.Second, "the longest time to write what was read, with retries, after a signal or -duration")
	flags.BoolVar(&c.again, "again", false, "forget what the database has of the input, and count anew")
	flags.BoolVar(&c.verbose, "v", false, "name each malformed record")
	flags.StringVar(&c.listen, "listen", "", "the `address` of a live page and /metrics during the run, such as 127.0.0.1:6060")
	flags.SetOutput(io.Discard) // the usage after an error would hide the error
	if err = flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, "Usage: ingest [flags]\n\nCounts the keys of a stream in a SQLite database.\n\n")
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		fmt.Fprint(stderr, usage)
	}
	for name, least := range map[string]string{"readers": "1", "workers": "1", "max-pending": "0", "attempts": "0", "duration": "0", "patience": "0"} {
		if is := flags.Lookup(name).Value.String(); err == nil && (is[0] == '-' || is < least) {
			err = fmt.Errorf("-%s is %s: want %s or more", name, is, least)
		}
	}
	switch {
	case err != nil:
		return c, err
	case flags.NArg() > 0:
		return c, fmt.Errorf("unexpected argument %q: name an input with -input", flags.Arg(0))
	case c.format != "" && formats[c.format] == nil:
		return c, fmt.Errorf("-format is %q: want go or lines", c.format)
	case !(c.fail >= 0 && c.fail <= 1): // or NaN
		return c, fmt.Errorf("-fail is %v: want 0 to 1", c.fail)
	case c.fail == 1 && c.attempts == 0:
		return c, errors.New("-fail 1 with -attempts 0 would never end: no write ever succeeds")
	}
	return c, nil
}
