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
	q := shardq.MustNew(shardq.Options[int]{Capacity: 2})
	ctx := context.Background()
	go func() {
		for line := range 5 {
			_ = q.AddContext(ctx, line, shardq.AddOptions{}) // waits while two are held
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

// A crawler waits for room, and its pages have a low priority. A page that a
// user waits for needs room as well, and overtakes them.
func ExampleQueue_AddContext_priority() {
	queue := shardq.MustNew(shardq.Options[string]{Capacity: 3, Shards: 1})
	ctx := context.Background()
	low := shardq.AddOptions{Priority: -1}
	for _, page := range []string{"crawl/1", "crawl/2"} {
		fmt.Println(queue.AddContext(ctx, page, low))
	}
	fmt.Println(queue.TryAdd("user/7", shardq.AddOptions{Priority: 10}))

	crawler := make(chan error)
	go func() { crawler <- queue.AddContext(ctx, "crawl/3", low) }() // waits for room
	for range 4 {
		page, _ := queue.Get()
		fmt.Println(page)
		queue.Done(page)
	}
	fmt.Println(<-crawler, "over capacity:", queue.Stats().OverCapacity)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// user/7
	// crawl/1
	// crawl/2
	// crawl/3
	// <nil> over capacity: 0
}

// The queue reports when its producers must slow down, and when they can go on.
func ExampleOptions_watermarks() {
	q := shardq.MustNew(shardq.Options[int]{
		Watermarks: shardq.Watermarks{High: 3, Low: 1, On: func(w shardq.Watermark) {
			if w.High {
				fmt.Println("slow down")
			} else {
				fmt.Println("go on")
			}
		}},
	})
	q.AddBatch([]int{1, 2, 3, 4}, shardq.AddOptions{})
	for range 3 {
		item, _ := q.Get()
		q.Done(item)
	}
	// Output:
	// slow down
	// go on
}
