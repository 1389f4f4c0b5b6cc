package shardq_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq"
)

// A worker that ends with its context, or with the queue, whichever comes first. What it
// has in hand it finishes; what is still ready stays for others.
func ExampleQueue_GetContext() {
	q := shardq.Must(shardq.Options[string]{})
	ctx, cancel := context.WithCancel(context.Background())

	worker := func() error {
		for {
			item, err := q.GetContext(ctx)
			if err != nil {
				return err
			}
			fmt.Println("working on", item)
			q.Done(item)
			cancel() // somebody tells the worker to stop
		}
	}
	q.Add("a")
	fmt.Println(worker())
	fmt.Println(errors.Is(worker(), shardq.ErrShutDown))
	// Output:
	// working on a
	// context canceled
	// false
}
