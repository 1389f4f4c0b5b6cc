package shardq_test

import (
	"fmt"

	"github.com/shardq/shardq"
)

// With a Hash, the program decides what shares a shard: here, all orders of one
// customer, which then come in their order.
func Example_hash() {
	type order struct{ Customer, Number int }

	q := shardq.Must(shardq.Options[order]{
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

// Stable routing puts a key on the shard of the same number in every process. It
// needs a type whose value is the same everywhere.
func Example_stableRouting() {
	type request struct{ Namespace, Name string }
	_, err := shardq.New(shardq.Options[request]{StableRouting: true})
	fmt.Println(err)

	_, err = shardq.New(shardq.Options[*request]{StableRouting: true})
	fmt.Println(err)
	// Output:
	// <nil>
	// shardq: Options.StableRouting: *shardq_test.request is of type *shardq_test.request, which has no stable value
}
