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
	readings := coalesce.MustNew(coalesce.Options[string, []int]{
		Queue:        shardq.Options[string]{Clock: fake},
		Merge:        func(pending, next []int) []int { return append(pending, next...) },
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
	for _, degree := range []int{21, 22, 22, 23} {
		if err := readings.Put("attic", []int{degree}); err != nil {
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

// An alarm overtakes the readings that are ready before it.
func ExampleCoalescer_PutWith_priority() {
	readings := coalesce.MustNew(coalesce.Options[string, []int]{
		Queue: shardq.Options[string]{Shards: 1},
		Merge: func(pending, next []int) []int { return append(pending, next...) },
	})
	put := func(sensor string, degrees int) {
		var options coalesce.PutOptions
		if degrees > 60 {
			options.Priority = 10
		}
		if err := readings.PutWith(sensor, []int{degrees}, options); err != nil {
			fmt.Println(err)
		}
	}
	put("attic", 21)
	put("cellar", 14)
	put("cellar", 80) // the key has the highest priority of its values
	put("attic", 22)
	for readings.Queue().Len() > 0 {
		sensor, degrees, _ := readings.Take(context.Background())
		fmt.Println(sensor, degrees)
		readings.Done(sensor)
	}
	// Output:
	// cellar [14 80]
	// attic [21 22]
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
