package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Example adds an item, gets it, works on it, and calls Done.
func Example() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("reindex")
	q.Add("reindex") // deduplicated: one run serves both adds
	item, _ := q.Get()
	fmt.Println("working on", item)
	q.Done(item)
	fmt.Println("left:", q.Len())
	// Output:
	// working on reindex
	// left: 0
}

// New reports all faults of the options at once, for options that come from a
// configuration file.
func ExampleNew() {
	_, err := shardq.New(shardq.Options[string]{Shards: -1, Tick: -time.Second})
	fmt.Println(err)

	q, err := shardq.New(shardq.Options[string]{Name: "orders", Shards: 8})
	fmt.Println(q.Name(), q.Stats().Shards, err)
	// Output:
	// shardq: Options.Shards is -1: want 0 (the default) to 4096
	// shardq: Options.Tick is -1s: want 0 (the default) or more
	// orders 8 <nil>
}

// With one shard, items are handed out strictly in the order in which they
// became ready. An item that is added during its processing becomes ready at
// its Done.
func Example_strictOrder() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.Add("first")
	q.Add("second")

	first, _ := q.Get()
	q.Add(first) // again
	q.Add("third")
	q.Done(first)

	for q.Len() > 0 {
		item, _ := q.Get()
		fmt.Println(item)
		q.Done(item)
	}
	// Output:
	// second
	// third
	// first
}

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

// An account gets at most one reminder in an hour, however many events ask for
// it, and also if the first one was sent long ago.
func ExampleQueue_AddWith_notAgainWithin() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake})
	remind := func(account string) {
		queue.AddWith(account, shardq.AddOptions{NotAgainWithin: time.Hour})
	}
	for range 5 {
		remind("alice")
		for queue.Len() > 0 {
			account, _ := queue.Get()
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), account)
			queue.Done(account)
		}
		fake.Step(25 * time.Minute)
	}
	fmt.Println("refused:", queue.Stats().Deduplicated)
	// Output:
	// 0s alice
	// 1h15m0s alice
	// refused: 3
}

// A controller starts and adds all objects. Meanwhile a user changes one of
// them: that object goes first, and runs once.
func ExampleQueue_AddWith_priority() {
	const initial, live = -100, 0
	queue := shardq.MustNew(shardq.Options[string]{Shards: 1})
	for _, key := range []string{"a", "b", "c", "d"} {
		queue.AddWith(key, shardq.AddOptions{Priority: initial})
	}
	queue.AddWith("c", shardq.AddOptions{Priority: live}) // a user changes it

	for {
		claim, ok := queue.TryClaim()
		if !ok {
			break
		}
		fmt.Println(claim.Item, claim.Priority)
		claim.Done()
	}
	// Output:
	// c 0
	// a -100
	// b -100
	// d -100
}

// A server rejects requests when its queue is full.
func ExampleQueue_TryAdd() {
	q := shardq.MustNew(shardq.Options[string]{Capacity: 2})
	for _, request := range []string{"a", "b", "a", "c"} {
		if err := q.TryAdd(request, shardq.AddOptions{}); errors.Is(err, shardq.ErrFull) {
			fmt.Println(request, "is rejected")
		}
	}
	fmt.Println("held:", q.Stats().Held)
	// Output:
	// c is rejected
	// held: 2
}

// A reader is no faster than the workers.
func ExampleQueue_AddContext() {
	q := shardq.MustNew(shardq.Options[string]{Capacity: 2})
	ctx := context.Background()
	go func() {
		for line := range 5 {
			_ = q.AddContext(ctx, fmt.Sprint(line), shardq.AddOptions{}) // waits while two are held
		}
		q.ShutDown()
	}()
	lines := 0
	for range q.Items(ctx) {
		lines++
	}
	fmt.Println("lines:", lines, "over capacity:", q.Stats().OverCapacity)
	// Output: lines: 5 over capacity: 0
}

// The queue reports when its producers must slow down, and when they can go on.
func ExampleOptions_watermarks() {
	q := shardq.MustNew(shardq.Options[string]{
		Watermarks: shardq.Watermarks{High: 3, Low: 1, On: func(w shardq.Watermark) {
			if w.High {
				fmt.Println("slow down")
			} else {
				fmt.Println("go on")
			}
		}},
	})
	q.AddBatch([]string{"a", "b", "c", "d"}, shardq.AddOptions{})
	for range 3 {
		item, _ := q.Get()
		q.Done(item)
	}
	// Output:
	// slow down
	// go on
}

// A controller writes why an object failed into its status, and watches the
// object: each failure adds the object again.
func ExampleOptions_keepBackoff() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Clock:       fake,
		RateLimiter: limiter.NewExponential[string](time.Second, time.Minute),
		KeepBackoff: true,
	})
	queue.Add("object")
	for range 8 {
		if claim, ok := queue.TryClaim(); ok {
			fmt.Println("attempt at", fake.Now().Sub(time.Unix(0, 0)))
			queue.Add("object") // the event of the status update
			_ = claim.Retry()
		}
		queue.Add("object") // another event
		fake.Step(time.Second)
	}
	// Output:
	// attempt at 0s
	// attempt at 1s
	// attempt at 3s
	// attempt at 7s
}

// A tenant of the large plan may have three items in flight, and all others
// one. A tenant that changes its plan does not wait for its next item.
func ExampleOptions_groupPolicy() {
	var upgraded atomic.Bool // several goroutines may ask for policies at once
	queue := shardq.MustNew(shardq.Options[string]{
		Shards: 1,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(tenant string) shardq.GroupPolicy {
			if tenant == "acme" && upgraded.Load() {
				return shardq.GroupPolicy{Limit: 3}
			}
			return shardq.GroupPolicy{Limit: 1}
		},
	})
	handOut := func() {
		for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
			fmt.Println(claim.Item, "is in flight")
		}
	}
	queue.AddBatch([]string{"acme/1", "acme/2", "acme/3", "acme/4", "other/1", "other/2"}, shardq.AddOptions{})
	handOut()
	fmt.Println("acme takes the large plan")
	upgraded.Store(true)
	queue.RefreshGroup("acme")
	handOut()
	// Output:
	// acme/1 is in flight
	// other/1 is in flight
	// acme takes the large plan
	// acme/2 is in flight
	// acme/3 is in flight
}

// Tenants take turns, and each may have two items in flight. One whose service
// answers 429 is paused, and the others go on.
func ExampleQueue_PauseGroup() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Shards: 1, Clock: fake,
		Group: func(key string) string {
			tenant, _, _ := strings.Cut(key, "/")
			return tenant
		},
		GroupPolicy: func(tenant string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Limit: 2, Rate: shardq.Rate{PerSecond: 10, Burst: 5}}
		},
	})
	handOut := func() (claims []worker.Claim[string]) {
		for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
			fmt.Println(fake.Now().Sub(time.Unix(0, 0)), claim.Item)
			claims = append(claims, claim)
		}
		return claims
	}
	queue.AddBatch([]string{"acme/1", "acme/2", "acme/3", "other/1"}, shardq.AddOptions{})
	claims := handOut()
	for group := range queue.Groups() {
		if group.Throttled {
			fmt.Println(group.Group, "is held back by its", group.Reason)
		}
	}

	// The service of acme answers 429 with Retry-After: 30.
	queue.PauseGroup("acme", fake.Now().Add(30*time.Second))
	for _, claim := range claims {
		_ = claim.Done()
	}
	queue.Add("other/2")
	handOut()
	fake.Step(30 * time.Second)
	handOut()
	// Output:
	// 0s acme/1
	// 0s other/1
	// 0s acme/2
	// acme is held back by its limit
	// 0s other/2
	// 30s acme/3
}

// An operator stops all workers while the database is upgraded. The queue goes
// on taking in items, and nothing is lost.
func ExampleQueue_Pause() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
	queue.Pause()
	queue.Add("invoice/17")
	queue.AddAfter("invoice/18", time.Minute)
	fake.Step(time.Hour) // the delay expires meanwhile

	_, ok := queue.TryClaim()
	fmt.Println("paused:", queue.Stats().Paused, "ready:", queue.Len(), "claimed:", ok)
	queue.Resume()
	for claim, ok := queue.TryClaim(); ok; claim, ok = queue.TryClaim() {
		fmt.Println(claim.Item)
		claim.Done()
	}
	// Output:
	// paused: true ready: 2 claimed: false
	// invoice/17
	// invoice/18
}

// A worker ends with its context or with the queue, whichever is first. It
// finishes its item. Items that are ready stay for others.
func ExampleQueue_GetContext() {
	q := shardq.MustNew(shardq.Options[string]{})
	ctx, cancel := context.WithCancel(context.Background())

	worker := func() error {
		for {
			item, err := q.GetContext(ctx)
			if err != nil {
				return err
			}
			fmt.Println("working on", item)
			q.Done(item)
			cancel() // the program stops the worker
		}
	}
	q.Add("a")
	fmt.Println(worker())
	fmt.Println(errors.Is(worker(), shardq.ErrShutDown))
	// Output:
	// working on a
	// context canceled
	// false
}

// A worker in five lines: the loop calls Done at the end of each turn, however
// the turn ends. The loop ends with the queue or with its context.
func ExampleQueue_Items() {
	q := shardq.MustNew(shardq.Options[string]{Shards: 1})
	q.Add("a")
	q.Add("b")
	q.ShutDown() // ready items are still handed out

	for item := range q.Items(context.Background()) {
		if item == "a" {
			continue // a is Done nevertheless
		}
		fmt.Println("working on", item)
	}
	fmt.Println("in processing:", q.Stats().Processing)
	// Output:
	// working on b
	// in processing: 0
}

// A claim ends once. A late end returns an error, and disturbs no other worker.
func ExampleQueue_Claim() {
	q := shardq.MustNew(shardq.Options[string]{})
	q.Add("invoice/17")

	slow, _ := q.Claim(context.Background())
	_ = slow.Release() // a supervisor lets another worker have the item
	other, _ := q.Claim(context.Background())

	fmt.Println(other.Item, other.Valid())
	fmt.Println(errors.Is(slow.Done(), worker.ErrClaimEnded))
	fmt.Println(other.Valid(), other.Fence() > slow.Fence())
	fmt.Println(other.Done(), q.Len())
	// Output:
	// invoice/17 true
	// true
	// true true
	// <nil> 0
}

// On SIGTERM the workers send the mails that are ready, and the program keeps
// the delayed ones for its next start.
func Example_shutdown() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	queue := shardq.MustNew(shardq.Options[string]{Name: "mails"})
	keep := func(mail string) { fmt.Println("kept:", mail) } // in a file, say
	workers, err := worker.New(queue, worker.Options[string]{
		Workers: 8,
		Handle: func(ctx context.Context, mail string) error {
			fmt.Println("sent:", mail)
			stop() // for this example: SIGTERM does the same
			return nil
		},
		OnLeftover:   func(_ context.Context, f worker.Failure[string]) { keep(f.Item) },
		Drain:        queue.DrainWith(shardq.DrainOptions{Delayed: shardq.DropDelayed}),
		DrainTimeout: 20 * time.Second, // below terminationGracePeriodSeconds
		AbandonAfter: 5 * time.Second,  // for handlers that ignore their contexts
	})
	if err != nil {
		log.Fatal(err)
	}
	queue.AddAfter("reminder", 24*time.Hour)
	queue.Add("welcome")

	err = workers.Run(ctx)
	if left, is := errors.AsType[*shardq.DrainError[string]](err); is { // 20 seconds were too few
		for _, mail := range left.Left() {
			keep(mail.Item)
		}
	}
	fmt.Println("left:", queue.Stats().Held, err)
	// Output:
	// sent: welcome
	// kept: reminder
	// left: 0 <nil>
}

// A program must end within some time. The error of Drain lists what is left
// then.
func ExampleQueue_Drain() {
	q := shardq.MustNew(shardq.Options[string]{Name: "mail"})
	q.AddAfter("tomorrow", 24*time.Hour)
	q.Add("slow")
	_, _ = q.Get() // a worker that does not finish

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	dropped, err := q.Drain(ctx, shardq.DrainOptions{Delayed: shardq.DropDelayed})
	fmt.Println("to be stored for the next start:", dropped)
	var left *shardq.DrainError[string]
	if errors.As(err, &left) {
		fmt.Println("left in processing:", left.Processing, "such as", left.Left()[0].Item)
	}
	fmt.Println("timed out:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// to be stored for the next start: [tomorrow]
	// left in processing: 1 such as slow
	// timed out: true
}

// A queue with metrics, a hook for stuck items, and a live page.
func Example_observing() {
	fake := clock.NewFake(time.Unix(0, 0)) // for this example: it moves on command
	queue := shardq.MustNew(shardq.Options[string]{
		Name:       "invoices", // the label of metrics and logs
		Metrics:    true,
		StuckAfter: time.Minute,
		OnStuck: func(item stats.Item[string]) {
			fmt.Println("stuck:", item.Item)
		},
		Clock: fake,
	})
	mux := http.NewServeMux() // the one that has /debug/pprof
	mux.Handle("/debug/queues", debugpage.Handler(queue))

	queue.Add("invoice/17")
	_, _ = queue.Get() // a worker that does not come back
	queue.AddAfter("invoice/18", time.Hour)
	fake.Step(5 * time.Minute)

	snapshot := queue.Snapshot(10) // at most ten items of each state
	for _, item := range snapshot.Processing {
		fmt.Println(item.Item, "in flight for", snapshot.Time.Sub(item.Since))
	}
	for _, item := range snapshot.Delayed {
		fmt.Println(item.Item, "delayed for another", item.Deadline.Sub(snapshot.Time))
	}
	fmt.Println("ready:", snapshot.Stats.Ready, "longest:", snapshot.Stats.Metrics.LongestRunning)
	// Output:
	// stuck: invoice/17
	// invoice/17 in flight for 5m0s
	// invoice/18 delayed for another 55m0s
	// ready: 0 longest: 5m0s
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
