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
		if err := q.TryAdd(request); errors.Is(err, shardq.ErrFull) {
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
	q := shardq.MustNew(shardq.Options[int]{Capacity: 2})
	ctx := context.Background()
	go func() {
		for line := range 5 {
			_ = q.AddContext(ctx, line) // waits while two are held
		}
		q.ShutDown()
	}()
	sum := 0
	for line := range q.Items(ctx) {
		sum += line
	}
	fmt.Println("sum:", sum, "over capacity:", q.Stats().OverCapacity)
	// Output: sum: 10 over capacity: 0
}

// The queue reports when its producers must slow down, and when they can go on.
func ExampleOptions_watermarks() {
	q := shardq.MustNew(shardq.Options[int]{
		HighWatermark: 3,
		LowWatermark:  1,
		OnWatermark: func(w shardq.Watermark) {
			if w.High {
				fmt.Println("slow down")
			} else {
				fmt.Println("go on")
			}
		},
	})
	q.AddBatch([]int{1, 2, 3, 4})
	for range 3 {
		item, _ := q.Get()
		q.Done(item)
	}
	// Output:
	// slow down
	// go on
}
