package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

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

// A crawler adds the links of a page while it has the page. It does not wait
// for room then, because it would wait for itself.
func ExampleQueue_AddContext_crawler() {
	q := shardq.MustNew(shardq.Options[int]{Capacity: 4})
	ctx, stop := context.WithCancel(context.Background())
	var pages atomic.Int32
	crawl := func(ctx context.Context, page int) error {
		for _, link := range []int{3*page + 1, 3*page + 2, 3*page + 3} {
			if link < 40 {
				_ = q.AddContext(ctx, link, shardq.AddOptions{}) // ctx is the handler's
			}
		}
		if pages.Add(1) == 40 {
			stop()
		}
		return nil
	}
	q.Add(0)
	_ = q.Run(ctx, 2, crawl)
	fmt.Println("pages:", pages.Load(), "over capacity:", q.Stats().OverCapacity > 0)
	// Output: pages: 40 over capacity: true
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
