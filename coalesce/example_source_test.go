package coalesce_test

import (
	"context"
	"fmt"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// A reader commits the safe position of its log. Events of several keys are done
// out of order.
func ExampleCoalescer_NewSource() {
	views := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{Shards: 1},
		Merge: func(pending, next int) int { return pending + next },
	})
	log, err := views.NewSource("partition 7", 100) // the position that was committed
	if err != nil {
		panic(err)
	}
	for offset, page := range []string{"home", "about", "home", "news"} {
		if err := log.Put(page, 1, 100+int64(offset)); err != nil {
			panic(err)
		}
	}
	for range 3 {
		page, count, _ := views.Take(context.Background())
		for source, offset := range views.Offsets(page) {
			fmt.Printf("store %s %d with %s at %d\n", page, count, source, offset)
		}
		views.Done(page)
		fmt.Println("read again from", log.Safe())
	}
	// Output:
	// store home 2 with partition 7 at 102
	// read again from 101
	// store about 1 with partition 7 at 101
	// read again from 103
	// store news 1 with partition 7 at 103
	// read again from 104
}
