package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shardq/shardq"
)

// A claim ends once. Whoever comes too late gets an error, and disturbs nobody.
func ExampleQueue_Claim() {
	q := shardq.Must(shardq.Options[string]{})
	q.Add("invoice/17")

	slow, _ := q.Claim(context.Background())
	_ = slow.Release() // a supervisor gives the item to somebody else
	other, _ := q.Claim(context.Background())

	fmt.Println(other.Item, other.Valid())
	fmt.Println(errors.Is(slow.Done(), shardq.ErrClaimEnded))
	fmt.Println(other.Valid(), other.Fence() > slow.Fence())
	fmt.Println(other.Done(), q.Len())
	// Output:
	// invoice/17 true
	// true
	// true true
	// <nil> 0
}

// What failed comes again after a backoff, and what is not ready yet after a delay.
func ExampleClaim_Retry() {
	q := shardq.Must(shardq.Options[string]{})
	q.Add("deploy")
	claim, _ := q.Claim(context.Background())
	_ = claim.Retry() // after 5 ms, by default
	claim, _ = q.Claim(context.Background())
	fmt.Println(claim.Item, "failed", q.NumRequeues(claim.Item), "time")
	_ = claim.RequeueAfter(time.Millisecond) // that was no failure
	claim, _ = q.Claim(context.Background())
	fmt.Println(claim.Item, "failed", q.NumRequeues(claim.Item), "times")
	_ = claim.Done()
	// Output:
	// deploy failed 1 time
	// deploy failed 0 times
}

// Claims of a batch end together.
func ExampleQueue_ClaimBatch() {
	q := shardq.Must(shardq.Options[int]{Shards: 1})
	q.AddBatch([]int{1, 2, 3})
	claims := make([]shardq.Claim[int], 64)
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
