package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
)

// A test of a handler adds items, waits until the queue holds nothing, and then
// checks what the handler did.
func Example_waitIdle() {
	queue := shardq.MustNew(shardq.Options[int]{})
	var mu sync.Mutex
	squares := map[int]int{}
	handle := func(ctx context.Context, n int) error { // what the test is about
		mu.Lock()
		defer mu.Unlock()
		squares[n] = n * n
		return nil
	}

	workers, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- queue.Run(workers, 4, handle) }()
	queue.AddBatch([]int{1, 2, 3, 2, 1}, shardq.AddOptions{})
	if err := queue.WaitIdle(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(squares)
	stop()
	fmt.Println(<-ended)
	// Output:
	// map[1:1 2:4 3:9]
	// <nil>
}

// In a bubble of testing/synctest two hours of backoff take no time.
func TestBackoffInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := shardq.MustNew(shardq.Options[string]{})
		attempts := 0
		go func() {
			_ = queue.Run(t.Context(), 1, func(ctx context.Context, item string) error {
				if attempts++; attempts < 25 {
					return errors.New("not yet")
				}
				return nil
			})
		}()
		start := time.Now()
		queue.Add("web")
		if err := queue.WaitIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if attempts != 25 || time.Since(start) < 2*time.Hour {
			t.Errorf("%d attempts in %v", attempts, time.Since(start))
		}
	})
}
