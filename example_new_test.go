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

// Must suits options that are fixed in the source.
func ExampleMust() {
	type request struct{ Namespace, Name string }

	q := shardq.Must(shardq.Options[request]{Name: "requests"})
	q.Add(request{"default", "web"})
	item, _ := q.Get()
	fmt.Println(item.Namespace, item.Name)
	q.Done(item)
	// Output: default web
}
