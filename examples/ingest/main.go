// Command ingest counts the keys of a stream in a SQLite database. A work queue
// merges the writes of each key, and writes them behind the readers.
//
//	main -> pipeline: read -> Put -> coalesce.Coalescer -> worker.Pool -> write -> SQLite
//
// Every event adds one to the pending value of its key. All events of a key
// before a worker reaches it are one write. Workers write a batch of keys in
// one transaction. Two writes of one key never overlap, and events that arrive
// meanwhile become one further write. A failed write returns its value to the
// queue, and is retried after a growing delay.
//
// At the end the program reopens the database and compares it with the counts
// of the readers, for each key and to the last event: see [tally].
//
// Run it with -h for its flags. Without flags it counts the identifiers in the
// source of the Go installation.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// The exit codes.
const (
	exitProven   = 0   // every event that was read is in the database, also after an interrupt
	exitFailed   = 1   // an event is not, or -strict stopped at a malformed record
	exitUnusable = 2   // a flag, the input or the database is unusable: nothing was done
	exitAborted  = 130 // a second interrupt
)

// The reasons to stop reading before the end of the input.
var (
	errInterrupted = errors.New("interrupted")
	errDuration    = errors.New("-duration is over")
	errStrict      = errors.New("-strict: stopped at a malformed record")
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], process{os.Stdin, os.Stdout, os.Stderr, signals}))
}

// process is what the program needs of its process.
type process struct {
	stdin   io.Reader
	stdout  io.Writer // only the final table
	stderr  io.Writer // progress, notices, errors
	signals <-chan os.Signal
}

// run is the whole program. It returns the exit code.
func run(arguments []string, process process) int {
	console := newConsole(process.stderr)
	config, err := parseFlags(arguments, process.stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitProven
	}
	if err != nil {
		return console.unusable(err)
	}
	pipeline, err := newPipeline(config, process.stdin, console)
	if err != nil {
		return console.unusable(err)
	}
	defer pipeline.sink.discard()
	return supervise(pipeline, process)
}

// supervise runs the pipeline. The first signal stops the reading. The second
// stops everything, and leaves the pipeline's goroutines to the end of the
// process.
func supervise(pipeline *pipeline, process process) int {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	finished := make(chan int, 1)
	go func() { finished <- pipeline.run(ctx, stop, process.stdout) }()
	for interrupts := 0; ; {
		select {
		case code := <-finished:
			return code
		case received := <-process.signals:
			if interrupts++; interrupts > 1 {
				pipeline.console.notice("%v again: stopped at once, nothing is proven", received)
				return exitAborted
			}
			pipeline.console.notice("%v: reading stops; writing what was read, within %v; another signal stops at once",
				received, pipeline.config.patience)
			stop(errInterrupted)
		}
	}
}
