package shardq_test

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// An editor saves a file again and again. The program reads it after a second
// without a change, and after five seconds at the latest.
func ExampleQueue_AddWith_debounce() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake})
	saved := func(file string) {
		queue.AddWith(file, shardq.AddOptions{
			After:   time.Second,
			Policy:  shardq.KeepLatest,
			MaxWait: 5 * time.Second,
		})
	}
	for _, pause := range []time.Duration{0, 500, 500, 500, 5000} {
		fake.Step(pause * time.Millisecond)
		fmt.Printf("at %v: %d to read\n", fake.Now().Sub(time.Unix(0, 0)), queue.Len())
		if queue.Len() == 0 {
			saved("notes.txt")
		}
	}
	// Output:
	// at 0s: 0 to read
	// at 500ms: 0 to read
	// at 1s: 0 to read
	// at 1.5s: 0 to read
	// at 6.5s: 1 to read
}

// Cancel returns what it took back. An item in processing stays with its
// worker.
func ExampleQueue_Cancel() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.AddAfter("later", time.Hour)
	q.Add("now")
	fmt.Printf("%+v\n", q.Cancel("later"))
	fmt.Printf("%+v\n", q.Cancel("now"))
	fmt.Println("anything else:", q.Cancel("now").Any())

	q.Add("busy")
	item, _ := q.Get()
	q.Add("busy") // to run once more
	fmt.Printf("%+v\n", q.Cancel("busy"))
	q.Done(item)
	fmt.Println("left:", q.Stats().Held)
	// Output:
	// {Ready:false Dirty:false Delayed:true}
	// {Ready:true Dirty:false Delayed:false}
	// anything else: false
	// {Ready:false Dirty:true Delayed:false}
	// left: 0
}
