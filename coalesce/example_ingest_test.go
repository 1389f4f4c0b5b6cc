package coalesce_test

import (
	"context"
	"fmt"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// A process reads a log after a crash, and counts each event once.
func ExampleSource() {
	log := []string{"home", "about", "home", "news"} // a partition: an index is an offset
	// The database as the last process left it: of home the offsets up to 2 are in
	// the counts, and of other pages those below 1.
	counts, position, ahead := map[string]int{"home": 2}, int64(1), map[string]int64{"home": 2}

	views := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:    func(pending, next int) int { return pending + next },
		Capacity: 10_000,                            // keys
		Queue:    shardq.Options[string]{Shards: 1}, // for the order of the output
	})
	partition, err := views.NewSource("views/7", position)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() { // reads
		for offset := position; offset < int64(len(log)); offset++ {
			page := log[offset]
			if last, is := ahead[page]; is && offset <= last {
				_ = partition.Skip(offset)
			} else if partition.PutContext(ctx, page, 1, offset, coalesce.PutOptions{}) != nil {
				return // ctx has ended, or the partition is closed
			}
		}
		_ = partition.Finish(ctx)
		stop()
	}()
	err = views.Run(ctx, 1, func(_ context.Context, page string, count int) error {
		counts[page] += count // this and the next lines are one transaction
		for source, offset := range views.Offsets(page) {
			fmt.Println(page, "is written up to", source, offset, "and all below", partition.Safe())
		}
		return nil
	})
	fmt.Println(counts, partition.Safe(), err)
	// Output:
	// about is written up to views/7 1 and all below 1
	// news is written up to views/7 3 and all below 3
	// map[about:1 home:2 news:1] 4 <nil>
}
