// Command ingest counts the keys of a stream into a SQLite database, written
// behind and coalesced per key by a work queue.
//
//	main -> pipeline: read -> Put -> shardq.Coalescer -> shardq.Workers -> write -> SQLite
//
// Every event adds one to the pending value of its key. However many events a key
// gets before a worker reaches it, they are one write. Workers write a batch of keys
// in one transaction; two writes of one key are never under way at once, and what
// arrives meanwhile makes one further write. A write that fails goes back and comes
// again, later each time.
//
// At the end the program reads the database anew and compares it with what the
// readers counted, per key and to the last event; see [tally].
//
// Run it with -h for its flags. Without any, it counts the identifiers in the
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
	exitProven   = 0   // everything read is in the database, also after an interrupt
	exitFailed   = 1   // something read is not, or -strict stopped at a malformed record
	exitUnusable = 2   // a flag, the input or the database: nothing was done
	exitAborted  = 130 // a second interrupt
)

// Why reading stopped before the end of the input.
var (
	errInterrupted = errors.New("interrupted")
	errDuration    = errors.New("the -duration is over")
	errStrict      = errors.New("-strict: stopped at a malformed record")
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(run(os.Args[1:], process{os.Stdin, os.Stdout, os.Stderr, signals}))
}

// process is what the program needs of the process that it runs in.
type process struct {
	stdin   io.Reader
	stdout  io.Writer // the final table alone
	stderr  io.Writer // progress, notices, complaints
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

// supervise runs the pipeline. The first signal stops the reading, the second
// everything: it leaves the pipeline's goroutines to the end of the process.
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
			pipeline.console.notice("%v: reading stops, what was read is written, within %v; once more stops at once",
				received, pipeline.config.patience)
			stop(errInterrupted)
		}
	}
}
