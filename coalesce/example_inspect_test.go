package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// A report adds what is not written yet to what is in the database. That
// includes the values that a worker is writing.
func ExampleCoalescer_Range() {
	orders := coalesce.MustNew(coalesce.Options[string, int]{
		Queue:    shardq.Options[string]{Shards: 1},
		Merge:    func(pending, next int) int { return pending + next },
		Readable: true,
	})
	for _, shop := range []string{"Bonn", "Kiel", "Kiel"} {
		if err := orders.Put(shop, 1); err != nil {
			fmt.Println(err)
		}
	}
	shop, count, _ := orders.Take(context.Background()) // a worker
	fmt.Println("writing:", shop, count)
	fmt.Println("not written:", maps.Collect(orders.Range()))
	orders.Done(shop)
	fmt.Println("not written:", maps.Collect(orders.Range()))
	// Output:
	// writing: Bonn 1
	// not written: map[Bonn:1 Kiel:2]
	// not written: map[Kiel:2]
}

// The view of the keys keeps the last failures. It has no values: these go
// back, or to OnDiscard.
func ExampleCoalescer_Queue() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: the backoff goes on
	views := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{Shards: 1, Clock: fake},
		Merge: func(pending, next int) int { return pending + next },
	})
	for _, page := range []string{"gone", "home"} {
		if err := views.Put(page, 1); err != nil {
			fmt.Println(err)
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	_ = views.Run(ctx, 1, func(_ context.Context, page string, count int) error {
		if page == "gone" {
			return worker.Permanent(errors.New("no such page"))
		}
		stop() // for this example: a signal does the same
		return errors.New("the database is busy")
	})

	failed, discarded := views.Queue().RecentFailures(10)
	for _, f := range append(discarded, failed...) {
		fmt.Printf("%s, attempt %d: %s, discarded: %t\n", f.Item, f.Attempt, f.Error, f.Discarded)
	}
	fmt.Println("pending:", views.Len())
	// Output:
	// gone, attempt 1: no such page, discarded: true
	// home, attempt 1: the database is busy, discarded: false
	// pending: 1
}
