//go:build unix

package shardq_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/shardq/shardq"
)

// On SIGTERM the program takes nothing in any more, finishes what it has taken in,
// and ends.
func Example_drainOnSIGTERM() {
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	q := shardq.Must(shardq.Options[int]{})
	var workers sync.WaitGroup
	workers.Go(func() {
		for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
			if item == 10 { // for this example: somebody stops the program
				self, _ := os.FindProcess(os.Getpid())
				self.Signal(syscall.SIGTERM)
			}
			q.Done(item)
		}
	})
	for item := range 1000 {
		q.Add(item)
	}

	<-terminated.Done()
	q.ShutDownWithDrain() // returns when nothing is ready or in processing
	q.Add(1000)           // too late: dropped, and counted
	workers.Wait()
	stats := q.Stats()
	fmt.Println("left:", stats.Ready+stats.Processing, "dropped:", stats.Dropped)
	// Output: left: 0 dropped: 1
}
