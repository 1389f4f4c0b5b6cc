// Command minimal counts the lines of standard input, and writes the counts in
// batches to standard output, which stands for a database:
// tail -f app.log | go run -C examples ./minimal
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

type count = coalesce.Entry[string, int] // a line, and how often it came

func run(ctx context.Context, input io.Reader, output, progress io.Writer) error {
	counts := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:    func(pending, next int) int { return pending + next },
		Capacity: 100_000,     // distinct lines; then the reading waits
		Linger:   time.Second, // so that a slow input comes in batches, too
	})
	ctx, end := context.WithCancel(ctx)
	var failed atomic.Bool
	stop := func(err error) {
		if err != nil && failed.CompareAndSwap(false, true) {
			fmt.Fprintln(progress, err)
		}
		end()
	}
	workers, err := worker.New(counts, worker.Options[count]{
		Workers: 4, BatchSize: 1000, MaxAttempts: 5,
		HandleBatch: func(_ context.Context, batch []count) []error {
			var text []byte
			for _, c := range batch {
				text = fmt.Appendf(text, "%d\t%s\n", c.Value, c.Key)
			}
			_, err := output.Write(text)
			return worker.FailAll(len(batch), err) // retried, with what was read since
		},
		OnDiscard: func(_ context.Context, f worker.Failure[count]) { stop(f.Err) },
		Drain:     counts.DrainWith(shardq.DrainOptions{Delayed: shardq.RunDelayed}), DrainTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	go func() { // after a signal, a read that blocks stays behind
		lines := bufio.NewScanner(input)
		for lines.Scan() && counts.PutContext(ctx, lines.Text(), 1, coalesce.PutOptions{}) == nil {
		}
		stop(lines.Err())
	}()
	go func() {
		for ticks := time.Tick(time.Second); ctx.Err() == nil; <-ticks {
			fmt.Fprintln(progress, counts.Len(), "lines to write")
		}
	}()
	if err = workers.Run(ctx); err == nil && failed.Load() { // it drains when ctx ends
		err = errors.New("not all lines are counted")
	}
	fmt.Fprintln(progress, counts.Stats())
	return err
}
