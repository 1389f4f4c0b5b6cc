package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq"
)

// A program has to end within some time. What it could not do by then is named.
func ExampleQueue_Drain() {
	q := shardq.Must(shardq.Options[string]{Name: "mail"})
	q.AddAfter("tomorrow", 24*time.Hour)
	q.Add("slow")
	_, _ = q.Get() // a worker that does not come to an end

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	dropped, err := q.Drain(ctx, shardq.DrainOptions{Waiting: shardq.DropWaiting})
	fmt.Println("to be stored for the next start:", dropped)
	var left *shardq.DrainError[string]
	if errors.As(err, &left) {
		fmt.Println("left in processing:", left.Processing, "such as", left.Left()[0].Item)
	}
	fmt.Println(err)
	// Output:
	// to be stored for the next start: [tomorrow]
	// left in processing: 1 such as slow
	// shardq: queue mail: left undone: 1 processing, 0 ready, 0 waiting: context deadline exceeded
}
