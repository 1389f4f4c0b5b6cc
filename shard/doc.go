// Package shard is the engine of a work queue: items hash to shards, and each
// shard holds its items, their states, their order and their timers under one lock
// of its own. Package shardq is the face that programs use; this package is public
// so that its documentation can be read beside its code, and makes the same
// promises.
//
// # The way of an item
//
//	Add      → route.go finds the shard (shards.go makes it) → add.go → table.go finds
//	           or makes the entry → state.go → ready.go, runqueue.go → readybits.go →
//	           park.go wakes a consumer
//	Get      → turn.go picks a shard by readybits.go (park.go while nothing is ready) →
//	           take.go, runqueue.go → state.go → the caller
//	Done     → table.go → state.go → forgotten, or back to ready.go if it was added meanwhile
//	AddAfter → delay.go → timerwheel → driver.go sleeps → delay.go → as Add from state.go on
//	AddBatch → deal.go sorts it by shards → as many Adds, by batch.go
//	TryAdd   → admit.go → internal/itemlimit → as Add
//	Group    → address.go → groups.go has a run queue for it → ring.go and fair.go say
//	           whose turn it is
//	Priority → priority.go → wishes.go notes it → levels.go and heap.go within
//	           runqueue.go, and urgency.go beside turn.go
//	Cancel   → cancel.go → state.go → out of runqueue.go and timerwheel
//	Again    → again.go → as an Add of what is in processing, also after a shutdown began
//	End      → handle.go finds the entry of a claim → as Done, but nothing is hashed or looked up
//	Retry    → again.go → as AddAfter and End in one; Postpone → postpone.go
//	AddTo    → addto.go → as Add, but Hash and Group are not called
//	All of these leave what is to do without the lock to effects.go, and tell times.go
//	of each step if the queue keeps times
//	Looks    → hold.go → look.go, list.go, left.go, info.go, group_info.go, timeleft.go; stats.go
//	Ends     → shutdown.go, drain.go, retries.go; and idle.go, which ends nothing
//
// # What each lock and word protects
//
// A shard's mutex guards everything in that shard, save where a field says
// otherwise. A method of a shard, or of what a shard consists of, is called with
// the mutex held, and returns with it held. Those that take it say so: lock...
// returns with the mutex held that it took, looks take it by look (hold.go), and of
// any other the comment says that it takes the lock.
//
// The mutex is a leaf: while it is held nothing is called that could take another
// lock, block, or run a user's code. The line of those who wait for room
// (internal/itemlimit), the list of what the watchdog found, and that of what a ShutDown
// took from a Drain have mutexes of their own, leaves as well. Between shards there
// are only atomics: the pointers to shards (shards.go), the words of ready bits
// (readybits.go), the parking lot (park.go), the driver's baton (driver.go), the
// closing flags (shutdown.go), the count of what is held (internal/itemlimit), that of
// the groups held back (ring.go), the pulse (ages.go) and the board of priorities
// (urgency.go).
//
// If you are after a lost wake-up, go straight to park.go; after a timer that does
// not fire, to driver.go; after one that fires early, to reading.go; after a shutdown
// that hangs, to drain.go.
package shard
