package coalesce_test

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
)

// A write-behind cache writes each profile once for all changes of a second,
// and reads its own writes: first what is pending or being written, then the
// database.
func ExampleCoalescer_Peek() {
	database := map[string]string{"ann": "Berlin"}
	writes := coalesce.MustNew(coalesce.Options[string, string]{
		Merge:    func(_, next string) string { return next }, // the newest wins
		Readable: true,
		Linger:   time.Second,
	})
	read := func(name string) string {
		if city, ok := writes.Peek(name); ok {
			return city
		}
		return database[name]
	}

	fmt.Println(read("ann"))
	for _, city := range []string{"Paris", "Rome"} {
		if err := writes.Put("ann", city); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(read("ann"))
	writes.ShutDown() // ends the linger
	_ = writes.Run(context.Background(), 1, func(_ context.Context, name, city string) error {
		fmt.Println("during the write:", read(name))
		database[name] = city
		return nil
	})
	fmt.Println(read("ann"))
	// Output:
	// Berlin
	// Rome
	// during the write: Rome
	// Rome
}

// A debouncer hands out the names of changed files when none has come for 100
// milliseconds, and after a second at the latest.
func ExampleCoalescer_PutWith() {
	fake := clock.NewFake(time.Unix(0, 0))
	changes := coalesce.MustNew(coalesce.Options[string, []string]{
		Queue: shardq.Options[string]{Clock: fake},
		Merge: func(pending, next []string) []string { return append(pending, next...) },
	})
	debounce := coalesce.PutOptions{
		Delay: 100 * time.Millisecond, Policy: shardq.KeepLatest, MaxWait: time.Second,
	}
	for _, file := range []string{"a.go", "b.go", "c.go"} {
		if err := changes.PutWith("build", []string{file}, debounce); err != nil {
			fmt.Println(err)
		}
		fake.Step(50 * time.Millisecond)
	}
	fmt.Println("ready:", changes.Queue().Len())
	fake.Step(100 * time.Millisecond)
	target, files, _ := changes.Take(context.Background())
	fmt.Println(target, files)
	changes.Done(target)
	// Output:
	// ready: 0
	// build [a.go b.go c.go]
}
