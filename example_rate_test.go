package shardq_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// A tenant buys more calls of an API. The new rate counts from that moment on,
// also for the item that is waiting for the old one.
func ExampleQueue_RefreshGroup() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	var perMinute atomic.Int64             // several goroutines may ask for rates at once
	perMinute.Store(1)
	queue := shardq.MustNew(shardq.Options[string]{
		Clock: fake,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(tenant string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Rate: shardq.Rate{PerSecond: float64(perMinute.Load()) / 60}}
		},
	})
	queue.AddBatch([]string{"acme/1", "acme/2", "acme/3"}, shardq.AddOptions{})
	for second := range 40 {
		if second == 30 { // half of the token for acme/2 is there
			perMinute.Store(15)
			queue.RefreshGroup("acme")
		}
		for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), claim.Item)
			claim.Done()
		}
		fake.Step(time.Second)
	}
	// Output:
	// 0s acme/1
	// 32s acme/2
	// 36s acme/3
}

// All workers together send ten mails a second, until their provider asks for
// fewer.
func ExampleQueue_SetRate() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	mails := shardq.MustNew(shardq.Options[int]{
		Shards: 1,
		Clock:  fake,
		Rate:   shardq.Rate{PerSecond: 10},
	})
	mails.AddBatch([]int{1, 2, 3, 4, 5}, shardq.AddOptions{})
	for claim, ok := mails.TryClaim(); mails.Len() > 0 || ok; claim, ok = mails.TryClaim() {
		if !ok {
			fake.Step(100 * time.Millisecond)
			continue
		}
		fmt.Println(fake.Now().Sub(time.Unix(0, 0)), "mail", claim.Item)
		claim.Done()
		if claim.Item == 3 { // the provider has answered 429
			mails.SetRate(shardq.Rate{PerSecond: 2})
		}
	}
	// Output:
	// 0s mail 1
	// 100ms mail 2
	// 200ms mail 3
	// 700ms mail 4
	// 1.2s mail 5
}

// An operator stops all workers while the database is upgraded. The queue goes
// on taking in items, and nothing is lost.
func ExampleQueue_Pause() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
	queue.Pause()
	queue.Add("invoice/17")
	queue.AddAfter("invoice/18", time.Minute)
	fake.Step(time.Hour) // the delay expires meanwhile

	_, ok := queue.TryClaim()
	fmt.Println("paused:", queue.Stats().Paused, "ready:", queue.Len(), "claimed:", ok)
	queue.Resume()
	for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
		fmt.Println(claim.Item)
		claim.Done()
	}
	// Output:
	// paused: true ready: 2 claimed: false
	// invoice/17
	// invoice/18
}
