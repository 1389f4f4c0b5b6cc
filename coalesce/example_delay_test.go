package coalesce_test

import (
	"context"
	"fmt"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
)

// The readings of a sensor are written together: three of them, or what has
// come in a second.
func ExampleOptions_lingerValues() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	readings := coalesce.MustNew(coalesce.Options[string, []string]{
		Queue:        shardq.Options[string]{Clock: fake},
		Merge:        func(pending, next []string) []string { return append(pending, next...) },
		Linger:       time.Second,
		LingerValues: 3,
	})
	write := func() {
		for readings.Queue().Len() > 0 {
			sensor, degrees, _ := readings.Take(context.Background())
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), sensor, degrees)
			readings.Done(sensor)
		}
	}
	for _, degree := range []string{"21", "22", "22", "23"} {
		if err := readings.Put("attic", []string{degree}); err != nil {
			fmt.Println(err)
		}
		write()
		fake.Step(100 * time.Millisecond)
	}
	fake.Step(time.Second)
	write()
	// Output:
	// 200ms attic [21 22 22]
	// 1.4s attic [23]
}

// A user undoes the changes of a document before they are saved. Cancel returns
// them, merged.
func ExampleCoalescer_Cancel() {
	changes := coalesce.MustNew(coalesce.Options[string, []string]{
		Merge:  func(pending, next []string) []string { return append(pending, next...) },
		Linger: time.Minute, // one save for the changes of a minute
	})
	for _, change := range []string{"title", "date"} {
		if err := changes.Put("letter", []string{change}); err != nil {
			fmt.Println(err)
		}
	}
	undone, ok := changes.Cancel("letter")
	fmt.Println(undone, ok)
	undone, ok = changes.Cancel("letter")
	fmt.Println(undone, ok)
	fmt.Println("left:", changes.Len())
	// Output:
	// [title date] true
	// [] false
	// left: 0
}

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

// An operator ends the linger of one key, so that its value is written at once,
// and drops the value of another. The live page does the same for its users if
// it gets the Coalescer, and not its Queue.
func ExampleCoalescer_Inspect() {
	clicks := coalesce.MustNew(coalesce.Options[string, int]{
		Merge:  func(pending, next int) int { return pending + next },
		Linger: time.Hour, // one write for the clicks of an hour
	})
	for _, page := range []string{"home", "flood", "home", "flood"} {
		if err := clicks.Put(page, 1); err != nil {
			fmt.Println(err)
		}
	}

	var page shardq.Inspector = clicks // for debugpage.Options.Queues
	operator := clicks.Inspect().Operator()
	fmt.Println("ended a delay:", operator.RetryNow("home"))
	fmt.Println("dropped a delayed value:", operator.Cancel("flood").Delayed)
	fmt.Println("recognized:", page == clicks)

	key, count, _ := clicks.Take(context.Background())
	fmt.Println(key, count)
	clicks.Done(key)
	fmt.Println("left:", clicks.Len())
	// Output:
	// ended a delay: true
	// dropped a delayed value: true
	// recognized: true
	// home 2
	// left: 0
}
