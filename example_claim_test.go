package shardq_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A claim ends once. A late end returns an error, and disturbs no other worker.
func ExampleQueue_Claim() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("invoice/17")

	slow, _ := q.Claim(context.Background())
	_ = slow.Release() // a supervisor lets another worker have the item
	other, _ := q.Claim(context.Background())

	fmt.Println(other.Item, other.Valid())
	fmt.Println(errors.Is(slow.Done(), worker.ErrClaimEnded))
	fmt.Println(other.Valid(), other.Fence() > slow.Fence())
	fmt.Println(other.Done(), q.Len())
	// Output:
	// invoice/17 true
	// true
	// true true
	// <nil> 0
}

// DoneClaims ends the claims of a batch together.
func ExampleQueue_ClaimBatch() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.AddBatch([]string{"1", "2", "3"}, shardq.AddOptions{})
	claims := make([]worker.Claim[string], 64)
	n, _ := q.ClaimBatch(context.Background(), claims)
	for _, claim := range claims[:n] {
		fmt.Println(claim.Item)
	}
	fmt.Println(q.DoneClaims(claims[:n]))
	// Output:
	// 1
	// 2
	// 3
	// <nil>
}
