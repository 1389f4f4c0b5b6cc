// Package shard is the engine of a work queue. Items hash to shards, and each
// shard holds its items, their states, their order and their timers under one
// lock of its own. Programs use package shardq. This package is public only to
// be read. Any version may change it.
//
// Every way to add an item ends in add (add.go), every way to take one in take
// (take.go), and every end of a processing in finish (done.go). What they must
// do without the lock, they leave to effects.go. A delay goes from delay.go to
// timerwheel, and driver.go waits for it.
//
// # Locks
//
// A shard's mutex guards every field of the shard, except where the field says
// otherwise. Methods of shard, and of the types that a shard consists of, run with
// it held. Methods of Set and of Core, which has what touches no item, take it, and
// are called without it. A method named lock… returns a shard with its mutex held,
// and one that ends in AndUnlock releases it. The few methods of Core that a shard
// calls take no lock: they read fixed fields, or write atomics, which are all that
// shards share.
//
// All mutexes are leaves: while one is held, nothing is called that could block
// or run user code.
package shard
