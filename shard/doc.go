// Package shard is the engine of a work queue. Items hash to shards, and each
// shard holds its items, their states, their order and their timers under one
// lock of its own. Programs use package shardq. This package is public so that
// its documentation can be read beside its code. It is not part of the API that
// versions protect.
//
// # The way of an item
//
//	Add       → route.go finds the shard (shards.go makes it) → add.go →
//	            table.go finds or makes the entry → state.go → ready.go,
//	            runqueue.go → readybits.go → park.go wakes a consumer
//	Get       → turn.go picks a shard by readybits.go (park.go while nothing
//	            is ready) → take.go, runqueue.go → state.go → the caller
//	Done      → table.go → state.go → forgotten, or back to ready.go if the
//	            item was added meanwhile
//	AddAfter  → delay.go → timerwheel → driver.go waits → delay.go → as Add
//	            from state.go on
//	AddBatch  → partition.go sorts it by shards → as many Adds, by batch.go
//	TryAdd    → admit.go → internal/itemlimit → as Add
//	Cancel    → cancel.go → state.go → out of runqueue.go and timerwheel
//	Again     → retry.go → as an Add of an item in processing, also after a
//	            shutdown began
//	End       → handle.go finds the entry of a claim → as Done, without
//	            hashing or looking up the item
//	Retry     → retry.go → as AddAfter and End in one
//	Postpone  → postpone.go → as AddAfter, but the processing goes on
//	AddTo     → addto.go → as Add, without calling Hash and Group
//
// Each of these leaves what it must do without the lock to effects.go. If the
// queue keeps times, each calls times.go at every step.
//
//	Groups    → address.go → groups.go has a run queue for each →
//	            roundrobin.go and takegroup.go decide whose turn it is
//	Rates     → rate.go; groupblock.go, groupwait.go and pausegroup.go for a
//	            group, gate.go for the set; driver.go ends the waits
//	Priority  → priority.go → requested.go keeps it → levels.go and heap.go
//	            within runqueue.go; prioritybitmap.go beside turn.go
//	Places    → places.go, beside the list of a level
//	OnAdd     → addhook.go, from add.go and priority.go; outbox.go
//	Times     → coarseclock.go, sampler.go → times.go → measures.go
//	Snapshots → hold.go → inspect.go, list.go, item_info.go,
//	            group_info.go, timeleft.go; stats.go
//	Shutdown  → shutdown.go, discard.go, drain.go, retries.go
//	Idleness  → idle.go
//
// # Locks
//
// A shard's mutex guards every field of the shard, except where the field says
// otherwise. Methods of shard, and of the types that a shard consists of, run
// with it held. Methods of Set take it, and are called without it. A method
// named lock… returns a shard with its mutex held, and a method that ends in
// AndUnlock releases it. The few methods of Set that a shard calls take no
// lock: they read fixed fields, or write the atomics below.
//
// The mutex is a leaf: while it is held, nothing is called that could block or
// run user code. The limiter (internal/itemlimit), the watchdog's list of stuck
// items, the list of adds for OnAdd, and the list of items that a ShutDown took
// from a Drain have mutexes of their own, which are leaves as well.
//
// Shards share only atomics:
//
//   - the pointers to shards (shards.go)
//   - the ready bits (readybits.go)
//   - the parker (park.go)
//   - the ownership of the timer (driver.go)
//   - the flags of a shutdown (shutdown.go)
//   - the number of items held (internal/itemlimit)
//   - the number of throttled groups (roundrobin.go), and their first
//     deadlines (groupwait.go)
//   - the gate (gate.go), whose mutex is a leaf
//   - the coarse clock (coarseclock.go)
//   - the priority bitmap (prioritybitmap.go)
//
// # Debugging
//
// For a lost wake-up, go straight to park.go. For a timer that does not fire,
// go to driver.go; for one that fires early, to reading.go. For a shutdown that
// hangs, go to drain.go.
package shard
