package shardq_test

import (
	"fmt"
	"math"
	"strings"
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

// MustNew suits options that are fixed in the source.
func ExampleMustNew() {
	type request struct{ Namespace, Name string }

	q := shardq.MustNew(shardq.Options[request]{Name: "requests"})
	q.Add(request{"default", "web"})
	item, _ := q.Get()
	fmt.Println(item.Namespace, item.Name)
	q.Done(item)
	// Output: default web
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

// With a Hash, the program decides which items share a shard. Here all orders
// of one customer do, and are handed out in their order.
func Example_hash() {
	type order struct{ Customer, Number int }

	q := shardq.MustNew(shardq.Options[order]{
		Shards: 16,
		Hash:   func(o order) uint64 { return uint64(o.Customer) },
	})
	for number := 1; number <= 3; number++ {
		q.Add(order{Customer: 7, Number: number})
	}
	for q.Len() > 0 {
		item, _ := q.Get()
		fmt.Println(item.Number)
		q.Done(item)
	}
	// Output:
	// 1
	// 2
	// 3
}

// Stable routing puts a key on the shard of the same number in every process.
// It needs a type whose value is the same everywhere.
func Example_stableRouting() {
	type request struct{ Namespace, Name string }
	_, err := shardq.New(shardq.Options[request]{StableRouting: true})
	fmt.Println(err)

	_, err = shardq.New(shardq.Options[*int]{StableRouting: true})
	_, fault, _ := strings.Cut(err.Error(), ": ")
	fmt.Println(fault)
	// Output:
	// <nil>
	// Options.StableRouting: *int is of type *int, which has no stable value
}

// Calls that break the rules change nothing. The queue reports them to the
// hook, which may log them or fail a test.
func Example_onMisuse() {
	q := shardq.MustNew(shardq.Options[float64]{
		Name: "prices",
		OnMisuse: func(m shardq.Misuse[float64]) {
			fmt.Printf("%s: %v: %v\n", m.Queue, m.Kind, m.Item)
		},
	})
	q.Add(1.5)
	item, _ := q.Get()
	q.Done(item)
	q.Done(item)      // a second time
	q.Add(math.NaN()) // not equal to itself
	fmt.Println("counted:", q.Stats().Misused, q.Stats().Rejected)
	// Output:
	// prices: Done without Get: 1.5
	// prices: item not equal to itself: NaN
	// counted: 1 1
}
