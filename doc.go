// Package shardq is an in-process work queue of distinct items. It has the method
// set and the contract of client-go's workqueue, which Kubernetes controllers are
// built on, and spreads the work over independent shards.
//
// An item is a key: a value of any comparable type that names something to be
// done. Producers add items; workers get them, do what is to be done, and report
// that they are done:
//
//	queue := shardq.Must(shardq.Options[string]{})
//
//	// any number of producers
//	queue.Add("orders/17")
//
//	// any number of workers
//	for {
//		item, shutdown := queue.Get()
//		if shutdown {
//			return
//		}
//		if err := reconcile(item); err != nil {
//			queue.AddRateLimited(item) // again, later each time
//		} else {
//			queue.Forget(item)
//		}
//		queue.Done(item)
//	}
//
// # What it promises
//
//   - An item is never handed to two workers at once: between the Get that returns
//     it and its Done, no other Get returns it.
//   - No add is lost: after every Add that came before the shutdown, a Get returns
//     the item, and its worker begins after that Add began.
//   - Adds are merged: an item that is queued is queued once, however often it is
//     added. An item that is added while a worker has it runs once more afterwards,
//     however often it was added.
//   - No consumer sleeps in Get while an item is ready, and not held back by a
//     [Options].GroupLimit.
//   - A delay never ends early, and of several delays of one item the one that ends
//     first counts.
//
// They hold with any number of shards, producers and consumers, through shutdown,
// misuse, and panics of the user's code. docs/reference/semantics.md in the repository states
// them clause by clause, beside client-go's and controller-runtime's queues, each
// with the tests that check it.
//
// # The life of an item
//
// An item is idle, ready, processing, or dirty (processing, and added again since):
//
//	        Add                 Get                  Done
//	idle ──────────▶ ready ──────────▶ processing ──────────▶ idle
//	                  ▲                    │ Add
//	                  │        Done        ▼
//	                  └───────────────── dirty
//
// [Queue.Claim] takes an item as Get does, and returns the right to end that processing:
// a [Claim] ends once, and a late end changes nothing.
//
// Beside that, it may wait for a delay: [Queue.AddAfter] makes an item wait, and
// the end of the delay is an Add at that time. An item can be waiting and ready, or
// waiting and processing, at once. The queue keeps nothing of an item that is idle
// and does not wait.
//
// Whoever gets an item owes it a [Queue.Done], whatever came of the work, and also if
// the worker panics: a deferred Done is right where workers recover. Until then the
// item is nobody else's. [Queue.Forget] is about something else, the history of the
// item's retries in the limiter, and neither replaces the other.
//
// # Order
//
// With [Options].Shards at 1, items come in the order in which they became ready,
// as in client-go. With more, each shard is first-in, first-out on its own, and
// consumers go round the shards, a few items from each: no item is overtaken for
// ever, and docs/reference/semantics.md has the exact bound. The number of shards changes
// nothing else.
//
// # Concurrency, blocking and cost
//
// All methods may be called by any number of goroutines at once. Add happens before
// the return of the Get that serves it, and Done before the return of the next Get
// of the same item, in the sense of the Go memory model: what a producer wrote before
// Add, and what the last worker wrote before Done, the next worker reads.
//
// Get, GetContext, GetBatch and Items block while nothing is ready,
// [Queue.AddContext] while there is no room, and [Queue.Drain],
// [Queue.ShutDownWithDrain] and [Queue.WaitIdle] until all is done. All others
// return at once: they hold the lock of one shard for some tens of nanoseconds,
// and a batch for up to 64 items. What looks into a queue, such as
// [Queue.Snapshot] and [Queue.All], may take long, but holds a lock for some
// hundred items at a time. The others allocate nothing in steady state. No user
// code (the limiter, the clock, the hash function, Group, GroupWeight, the
// hooks, an item's methods) is ever called while a lock is held; if it panics,
// the panic reaches the caller and the queue goes on working.
//
// A queue starts no goroutine (but now and then one that calls OnStuck). While items wait
// for delays it has one timer, set for the earliest of them; an idle queue has none. Memory
// follows the number of items under way and is given back after a burst.
//
// # Shutdown
//
// [Queue.ShutDown] drops the items that wait and all later adds. What is ready
// is still handed out, and an item that is dirty still runs once more; whenever
// nothing is ready, Get returns true. [Queue.ShutDownWithDrain] does the same
// and then waits until nothing is ready and nothing is processing.
// [Queue.Drain] can be given up, and returns what is left then; it can let what
// waits come, too, and take in what fails meanwhile. All may be called any
// number of times, at any time. [Queue.WaitIdle] waits until the queue holds
// nothing, and ends nothing.
//
// # Beyond client-go
//
// [Queue.GetContext] and [Queue.Items] end with a context. [Queue.AddBatch],
// [Queue.GetBatch] and [Queue.DoneBatch] deal with many items in one call. With
// [Queue.AddWith] a delay can be put off, moved or left alone, and [Queue.Cancel] takes adds
// back. [AddOptions].Priority lets items overtake others, and [Options].Group lets tenants
// take turns. [Options].Capacity bounds what [Queue.TryAdd] and [Queue.AddContext] take in.
// [Queue.Snapshot] and [Queue.All] tell what is in the queue, and [Options].OnStuck of what
// has been in processing for too long. Who does not use them does not pay for them.
//
// # Running workers
//
// [Queue.Run] is the loop above over a handler: what fails comes again, a panic is a
// failure, and all workers have left when it returns. [NewWorkers] has more: batches,
// timeouts, bounds of attempts, reports, live resizing, and a drain at the end. [Parallelize]
// is for pieces of work that are known beforehand, and needs no queue.
//
// # Values
//
// A [Coalescer] is a queue of keys with a value for each, into which all that is put for the
// key merges: a worker takes a key together with all that came for it. [Coalescer.Run] and
// [NewCoalescerWorkers] run such workers. [Coalescer.Queue] is what those are given who look at
// queues: its Stats have in [Values] what is pending.
//
// # Watching it run
//
// [Queue.Stats] tells what there is, in the whole and by shards, and counts what happened. With
// [Options].Metrics it also has the seven series of client-go's workqueue, with how long items
// wait and how long they are worked on. All of it is counted under locks that are held anyway, and
// read when somebody asks. [Queue.Snapshot], [Queue.All], [Queue.MostRetried] and [Queue.Groups]
// name the items. Whatever shows a queue takes an [Observable], and so a queue of any type:
// package observe/debugpage is a live page for a mux, observe/expvars is for /debug/vars, and the
// modules observe/prometheus and observe/otel are for Prometheus and OpenTelemetry.
// [Options].Logger is told of what somebody may want to look into.
//
// # Misuse
//
// A Done of an item that is not processing is ignored, and counted in [Stats]. So is
// an item that is not equal to itself, such as a NaN, when it is added: no queue
// could find it again. [Options].OnMisuse is told of both. An item that cannot be
// compared, such as a slice in an any, panics in the goroutine that passes it in,
// before anything is changed.
//
// One misuse cannot be told from good use, because Done names nothing but the item:
// a second Done that comes when another worker has the item already ends that
// worker's turn.
//
// # Coming from client-go
//
// A *Queue[T] is assignable to client-go's TypedInterface[T],
// TypedDelayingInterface[T] and TypedRateLimitingInterface[T], and a limiter of
// package limiter to its TypedRateLimiter[T] and back. Deliberate differences: a
// drain waits for what is ready, too; a second Done is harmless; items that are not
// equal to themselves are rejected; unhashable items panic in their caller; AddAfter
// never blocks; delays end on ticks ([Options].Tick); metrics are not pushed to a
// provider, but read by [Queue.Stats]. docs/reference/semantics.md has all of them, with the
// reasons.
//
// # Other packages
//
// Package limiter has the rate limiters and a back-off with jitter. Package clock is
// how time is injected, for tests and for programs with a time of their own. Package
// timerwheel is the timer wheel on which delays run, useful alone. Package shard is
// the engine, public so that its documentation can be read beside its code.
package shardq
