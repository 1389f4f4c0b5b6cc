package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
)

// New reports all faults of the options at once, for options that come from a
// configuration file.
func ExampleNew() {
	_, err := shardq.New(shardq.Options[string]{Shards: -1, Tick: -time.Second})
	fmt.Println(err)

	q, err := shardq.New(shardq.Options[string]{Name: "orders", Shards: 8})
	fmt.Println(q.Name(), q.Stats().Shards, err)
	// Output:
	// shardq: Options.Shards is -1: want 0 (the default) to 4096
	// shardq: Options.Tick is -1s: want 0 (the default) or more
	// orders 8 <nil>
}

// With one shard, items are handed out strictly in the order in which they
// became ready. An item that is added during its processing becomes ready at
// its Done.
func Example_strictOrder() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.Add("first")
	q.Add("second")

	first, _ := q.Get()
	q.Add(first) // again
	q.Add("third")
	q.Done(first)

	for q.Len() > 0 {
		item, _ := q.Get()
		fmt.Println(item)
		q.Done(item)
	}
	// Output:
	// second
	// third
	// first
}

// Calls that break the rules change nothing. The queue reports them to the
// hook, which may log them or fail a test.
func Example_onMisuse() {
	q := shardq.MustNew(shardq.Options[string]{
		Name: "prices",
		OnMisuse: func(m shardq.Misuse[string]) {
			fmt.Printf("%s: %v: %v\n", m.Queue, m.Kind, m.Item)
		},
	})
	q.Add("gold")
	item, _ := q.Get()
	q.Done(item)
	q.Done(item) // a second time
	fmt.Println("counted:", q.Stats().Misused)
	// Output:
	// prices: Done without Get: gold
	// counted: 1
}
