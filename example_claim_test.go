package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// An item that failed runs again after a backoff. One that is not ready yet
// runs again after a delay.
func ExampleQueue_Claim_retry() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("deploy")
	claim, _ := q.Claim(context.Background())
	_ = claim.Retry() // after 5 ms, by default
	claim, _ = q.Claim(context.Background())
	fmt.Println(claim.Item, "failed", q.NumRequeues(claim.Item), "time")
	_ = claim.RequeueAfter(time.Millisecond) // which is no failure
	claim, _ = q.Claim(context.Background())
	fmt.Println(claim.Item, "failed", q.NumRequeues(claim.Item), "times")
	_ = claim.Done()
	// Output:
	// deploy failed 1 time
	// deploy failed 0 times
}

// DoneClaims ends the claims of a batch together.
func ExampleQueue_ClaimBatch() {
	q := shardq.MustNew(shardq.Options[int]{Shards: 1})
	q.AddBatch([]int{1, 2, 3}, shardq.AddOptions{})
	claims := make([]worker.Claim[int], 64)
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
