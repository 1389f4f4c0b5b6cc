package shardq_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq"
)

// A server rejects requests when its queue is full.
func ExampleQueue_TryAdd() {
	q := shardq.MustNew(shardq.Options[string]{Capacity: 2})
	for _, request := range []string{"a", "b", "a", "c"} {
		if err := q.TryAdd(request, shardq.AddOptions{}); errors.Is(err, shardq.ErrFull) {
			fmt.Println(request, "is rejected")
		}
	}
	fmt.Println("held:", q.Stats().Held)
	// Output:
	// c is rejected
	// held: 2
}

// A reader is no faster than the workers.
func ExampleQueue_AddContext() {
	q := shardq.MustNew(shardq.Options[string]{Capacity: 2})
	ctx := context.Background()
	go func() {
		for line := range 5 {
			_ = q.AddContext(ctx, fmt.Sprint(line), shardq.AddOptions{}) // waits while two are held
		}
		q.ShutDown()
	}()
	lines := 0
	for range q.Items(ctx) {
		lines++
	}
	fmt.Println("lines:", lines, "over capacity:", q.Stats().OverCapacity)
	// Output: lines: 5 over capacity: 0
}

// The queue reports when its producers must slow down, and when they can go on.
func ExampleOptions_watermarks() {
	q := shardq.MustNew(shardq.Options[string]{
		Watermarks: shardq.Watermarks{High: 3, Low: 1, On: func(w shardq.Watermark) {
			if w.High {
				fmt.Println("slow down")
			} else {
				fmt.Println("go on")
			}
		}},
	})
	q.AddBatch([]string{"a", "b", "c", "d"}, shardq.AddOptions{})
	for range 3 {
		item, _ := q.Get()
		q.Done(item)
	}
	// Output:
	// slow down
	// go on
}
