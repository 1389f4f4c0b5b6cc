package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// Whether an Add ends a delay of the same item, or leaves it to add the item once
// more, is an option. The default is what client-go does.
func Example_cancelDelayOnAdd() {
	for _, cancel := range []bool{false, true} {
		fake := clock.NewFake(time.Now())
		q := shardq.Must(shardq.Options[string]{Clock: fake, CancelDelayOnAdd: cancel})
		q.AddAfter("item", time.Minute)
		q.Add("item")
		item, _ := q.Get()
		q.Done(item)

		fake.Step(2 * time.Minute)
		fmt.Printf("CancelDelayOnAdd: %t, ready again: %d\n", cancel, q.Len())
	}
	// Output:
	// CancelDelayOnAdd: false, ready again: 1
	// CancelDelayOnAdd: true, ready again: 0
}
