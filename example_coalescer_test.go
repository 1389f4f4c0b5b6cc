package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shardq/shardq"
)

// A pipeline that counts events per key and writes the counts behind. Readers wait while too
// many keys are pending; a write that fails comes again, together with what was counted
// meanwhile; and when the input ends, all that was counted is written before the program
// goes on.
func ExampleCoalescer() {
	counts := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{
		Merge:    func(pending, next int) int { return pending + next },
		Capacity: 10_000,
	})
	ctx := context.Background()

	table, failures := map[string]int{}, 1
	write := func(batch []shardq.Pending[string, int]) error {
		if failures > 0 {
			failures--
			return errors.New("the database is busy")
		}
		for _, p := range batch {
			table[p.Key] += p.Value
		}
		return nil
	}

	var writer sync.WaitGroup
	writer.Go(func() {
		batch := make([]shardq.Pending[string, int], 100)
		for {
			n, err := counts.TakeBatch(ctx, batch)
			if err != nil {
				return // shut down, and nothing is left
			}
			if write(batch[:n]) == nil {
				counts.DoneBatch(batch[:n])
				continue
			}
			for _, p := range batch[:n] {
				if counts.Retry(p.Key, p.Value) != nil { // shutting down: the last try
					table[p.Key] += p.Value
					counts.Done(p.Key)
				}
			}
		}
	})

	for _, event := range []string{"login", "click", "click", "login", "click"} {
		if err := counts.PutContext(ctx, event, 1); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := counts.Drain(ctx, shardq.DrainOptions{Waiting: shardq.AwaitWaiting}); err != nil {
		fmt.Println(err)
	}
	writer.Wait()
	fmt.Println("clicks:", table["click"], "logins:", table["login"])
	// Output: clicks: 3 logins: 2
}

// What failed comes before what was put since.
func ExampleCoalescer_PutBack() {
	lines := shardq.MustCoalescer(shardq.CoalescerOptions[string, []string]{
		Merge: func(pending, next []string) []string { return append(pending, next...) },
	})
	ctx := context.Background()
	_ = lines.Put("log", []string{"one"})
	key, value, _ := lines.Take(ctx)
	_ = lines.Put("log", []string{"two"})
	_ = lines.PutBack(key, value) // it could not be written
	_ = lines.Put("log", []string{"three"})

	key, value, _ = lines.Take(ctx)
	fmt.Println(key, value)
	lines.Done(key)
	// Output: log [one two three]
}

// A bound on bytes, not on keys.
func ExampleCoalescerOptions_weight() {
	c := shardq.MustCoalescer(shardq.CoalescerOptions[string, []byte]{
		Merge:    func(pending, next []byte) []byte { return append(pending, next...) },
		Weight:   func(v []byte) int { return max(1, len(v)) },
		Capacity: 8,
	})
	for _, text := range []string{"12345", "67", "89"} {
		if err := c.TryPut("key", []byte(text)); errors.Is(err, shardq.ErrFull) {
			fmt.Println(text, "has no room beside", c.Stats().Values.Weight, "bytes")
		}
	}
	// Output: 89 has no room beside 7 bytes
}

// What waits for its retry when a program ends is returned, and may be kept elsewhere.
func ExampleCoalescer_Drain() {
	c := shardq.MustCoalescer(shardq.CoalescerOptions[string, int]{
		Merge: func(pending, next int) int { return pending + next },
	})
	ctx := context.Background()
	_ = c.Put("orders", 7)
	key, value, _ := c.Take(ctx)
	_ = c.Retry(key, value)

	left, err := c.Drain(ctx, shardq.DrainOptions{Waiting: shardq.DropWaiting})
	fmt.Println(left, err)
	// Output: [{orders 7}] <nil>
}
