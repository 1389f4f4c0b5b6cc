package shardq_test

import (
	"errors"
	"fmt"

	"github.com/shardq/shardq"
)

// An item that fails comes back after a delay that doubles with each failure, from 5
// milliseconds; once it succeeds, its history is forgotten.
func Example_retryWithBackOff() {
	q := shardq.Must(shardq.Options[string]{})
	attempts := 0
	reconcile := func(string) error {
		if attempts++; attempts < 4 {
			return errors.New("not yet")
		}
		return nil
	}

	q.Add("web")
	for q.NumRequeues("web") > 0 || attempts == 0 {
		item, _ := q.Get() // blocks while the item waits
		if err := reconcile(item); err != nil {
			q.AddRateLimited(item)
			fmt.Printf("attempt %d: %v, requeues: %d\n", attempts, err, q.NumRequeues(item))
		} else {
			q.Forget(item)
			fmt.Printf("attempt %d: done, requeues: %d\n", attempts, q.NumRequeues(item))
		}
		q.Done(item) // owed in either case
	}
	// Output:
	// attempt 1: not yet, requeues: 1
	// attempt 2: not yet, requeues: 2
	// attempt 3: not yet, requeues: 3
	// attempt 4: done, requeues: 0
}
