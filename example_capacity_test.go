package shardq_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq"
)

// A server that would rather turn requests away than take in more than it can hold.
func ExampleQueue_TryAdd() {
	q := shardq.Must(shardq.Options[string]{Capacity: 2})
	for _, request := range []string{"a", "b", "a", "c"} {
		if err := q.TryAdd(request); errors.Is(err, shardq.ErrFull) {
			fmt.Println(request, "is turned away")
		}
	}
	fmt.Println("held:", q.Stats().Held)
	// Output:
	// c is turned away
	// held: 2
}

// A reader that goes no faster than the workers.
func ExampleQueue_AddContext() {
	q := shardq.Must(shardq.Options[int]{Capacity: 2})
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
	fmt.Println("sum:", sum, "exceeded:", q.Stats().Exceeded)
	// Output: sum: 10 exceeded: 0
}

// Somebody upstream is told when to slow down, and when to go on.
func ExampleOptions_watermarks() {
	q := shardq.Must(shardq.Options[int]{
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
