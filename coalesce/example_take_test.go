package coalesce_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
)

// A pipeline counts events per key and writes the counts in batches. Producers
// block while too many keys are pending. Counts that could not be written go
// back, and are written with later ones. When the input ends, Drain waits until
// all counts are written.
func ExampleCoalescer() {
	counts := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:    func(pending, next int) int { return pending + next },
		Capacity: 10_000,
	})
	ctx := context.Background()

	table, failures := map[string]int{}, 1
	write := func(batch []coalesce.Entry[string, int]) error {
		if failures > 0 {
			failures--
			return errors.New("the database is busy")
		}
		for _, e := range batch {
			table[e.Key] += e.Value
		}
		return nil
	}

	var writer sync.WaitGroup
	writer.Go(func() {
		batch := make([]coalesce.Entry[string, int], 100)
		for {
			n, err := counts.TakeBatch(ctx, batch)
			if err != nil {
				return // shut down, and nothing is ready
			}
			if write(batch[:n]) == nil {
				counts.DoneBatch(batch[:n])
				continue
			}
			for _, e := range batch[:n] {
				if counts.Retry(e.Key, e.Value) != nil { // shutting down: the last attempt
					table[e.Key] += e.Value
					counts.Done(e.Key)
				}
			}
		}
	})

	for _, event := range []string{"login", "click", "click", "login", "click"} {
		if err := counts.PutContext(ctx, event, 1); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := counts.Drain(ctx, shardq.DrainOptions{Delayed: shardq.AwaitDelayed}); err != nil {
		fmt.Println(err)
	}
	writer.Wait()
	fmt.Println("clicks:", table["click"], "logins:", table["login"])
	// Output: clicks: 3 logins: 2
}

// A value that goes back precedes the values that were put since.
func ExampleCoalescer_PutBack() {
	lines := coalesce.MustNew(coalesce.Options[string, []string]{
		Merge: func(pending, next []string) []string { return append(pending, next...) },
	})
	ctx := context.Background()
	_ = lines.Put("log", []string{"one"})
	key, value, _ := lines.Take(ctx)
	_ = lines.Put("log", []string{"two"})
	_ = lines.PutBack(key, value) // it was not written
	_ = lines.Put("log", []string{"three"})

	key, value, _ = lines.Take(ctx)
	fmt.Println(key, value)
	lines.Done(key)
	// Output: log [one two three]
}

// Capacity limits bytes instead of keys.
func ExampleOptions_weight() {
	c := coalesce.MustNew(coalesce.Options[string, []byte]{
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

// Drain returns the values that are in a backoff when the program ends, so that
// they can be kept elsewhere.
func ExampleCoalescer_Drain() {
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Merge: func(pending, next int) int { return pending + next },
	})
	ctx := context.Background()
	_ = c.Put("orders", 7)
	key, value, _ := c.Take(ctx)
	_ = c.Retry(key, value)

	left, err := c.Drain(ctx, shardq.DrainOptions{Delayed: shardq.DropDelayed})
	fmt.Println(left, err)
	// Output: [{orders 7}] <nil>
}
