// Command minimal makes a report for each name on standard input: one at a time
// of each name, and once more if the name comes again meanwhile.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Stdin, report); err != nil {
		log.Fatal(err)
	}
}

func report(ctx context.Context, name string) error {
	fmt.Println("a report on", name)
	return nil // after an error or a panic, it runs again in 5 ms, 10 ms, 20 ms, …
}

func run(ctx context.Context, names io.Reader, handle worker.Handler[string]) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue := shardq.MustNew(shardq.Options[string]{Name: "reports"})
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 4, Handle: handle, MaxAttempts: 5,
		OnDiscard:    func(_ context.Context, f worker.Failure[string]) { log.Println(f.Item, f.Err) },
		Drain:        queue.DrainWith(shardq.DrainOptions{Delayed: shardq.AwaitDelayed}),
		DrainTimeout: 10 * time.Second,
	})
	if err != nil {
		return err // it lists each fault of the options
	}
	go func() {
		lines := bufio.NewScanner(names)
		for lines.Scan() {
			queue.Add(lines.Text()) // changes nothing if the name is ready already
		}
		if lines.Err() != nil {
			log.Println(lines.Err())
		}
		stop()
	}()
	return workers.Run(ctx) // until ctx ends and the queue is drained
}
