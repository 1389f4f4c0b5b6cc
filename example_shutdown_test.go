package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// On SIGTERM the workers send the mails that are ready, and the program keeps
// the delayed ones for its next start.
func Example_shutdown() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	queue := shardq.MustNew(shardq.Options[string]{Name: "mails"})
	keep := func(mail string) { fmt.Println("kept:", mail) } // in a file, say
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 8,
		Handle: func(ctx context.Context, mail string) error {
			fmt.Println("sent:", mail)
			stop() // for this example: SIGTERM does the same
			return nil
		},
		OnLeftover:   func(_ context.Context, f worker.Failure[string]) { keep(f.Item) },
		Drain:        queue.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
		DrainTimeout: 20 * time.Second, // below terminationGracePeriodSeconds
		AbandonAfter: 5 * time.Second,  // for handlers that ignore their contexts
	})
	if err != nil {
		log.Fatal(err)
	}
	queue.AddAfter("reminder", 24*time.Hour)
	queue.Add("welcome")

	err = workers.Run(ctx)
	if left, is := errors.AsType[*shardq.DrainError[string]](err); is { // 20 seconds were too few
		for _, mail := range left.Left() {
			keep(mail.Item)
		}
	}
	fmt.Println("left:", queue.Stats().Held, err)
	// Output:
	// sent: welcome
	// kept: reminder
	// left: 0 <nil>
}

// A program must end within some time. The error of Drain lists what is left
// then.
func ExampleQueue_Drain() {
	q := shardq.MustNew(shardq.Options[string]{Name: "mail"})
	q.AddAfter("tomorrow", 24*time.Hour)
	q.Add("slow")
	_, _ = q.Get() // a worker that does not finish

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	dropped, err := q.Drain(ctx, shardq.DrainOptions{Delayed: shardq.DropDelayed})
	fmt.Println("to be stored for the next start:", dropped)
	var left *shardq.DrainError[string]
	if errors.As(err, &left) {
		fmt.Println("left in processing:", left.Processing, "such as", left.Left()[0].Item)
	}
	fmt.Println("timed out:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// to be stored for the next start: [tomorrow]
	// left in processing: 1 such as slow
	// timed out: true
}
