// Package sharedwrites has, by traffic, how often an item writes memory that
// cores share. Its test counts that in a build with the tag countwrites:
//
//	go test -tags countwrites ./bench/sharedwrites           checks counts.json, and the goals
//	go test -tags countwrites ./bench/sharedwrites -update   writes counts.json
//
// The command cores of bench/compare makes the tables and the model of
// docs/reference/cores.md from the counts.
package sharedwrites

import (
	_ "embed"
	"encoding/json"
)

// A Count is the mean number of writes of an item in one traffic.
type Count struct {
	Traffic string
	Way     string // how items are added, taken and ended
	Shards  int
	// Feature is the option that is set, if any.
	Feature string `json:",omitempty"`
	// All is the number of writes to words that all shards share.
	All float64
	// Some is the number of writes to words that some shards share. Lane is the
	// number of writes to words that the consumers of a lane share.
	Some, Lane float64
	// Hottest is the number of writes to the line of the above that has the
	// most.
	Hottest float64
	// Locks is how often an item takes the lock of a shard. A batch takes it
	// once for many items.
	Locks float64
	// Kinds has the writes to words of All, Some and Lane by their kind.
	Kinds map[string]float64
}

// These are the traffics.
const (
	Full      = "full"
	Steady    = "steady"
	NearEmpty = "near-empty"
	Bursty    = "bursty"
	Sleeping  = "sleeping"
)

// These are the ways.
const (
	GetDone = "Get and Done"
	Claims  = "claims"
	Batches = "claims in batches of 64"
)

//go:embed counts.json
var file []byte

// Counts returns the counts of the last test with -update.
func Counts() (counts []Count) {
	if err := json.Unmarshal(file, &counts); err != nil {
		panic(err) // the file is part of the program
	}
	return counts
}

// ClientGo has the same counts for client-go's workqueue v0.37.2, without
// metrics, counted by hand from util/workqueue/queue.go, and from sync/cond.go
// and runtime/sema.go of Go 1.26.
//
// Add, Get and Done lock and unlock the mutex: two writes to its word each, six
// in all. Under it, they write six more words: the header of the map of dirty
// items twice (Insert, Delete), that of the map of items in processing twice,
// and that of the queue twice (Push, Pop). Maps and queue also write their
// contents, which is not counted, as it is not for shardq. Signal writes
// nothing while no goroutine waits. If the consumer is parked, Wait adds to
// notify.wait, unlocks and locks the mutex, takes and releases the lock of the
// list and appends itself. Signal takes and releases that lock, writes
// notify.notify, and unlinks the goroutine.
//
// Words under one lock count as one line, because no other core accesses them
// meanwhile.
func ClientGo() []Count {
	const locks, data, wait, signal = 6, 6, 1 + 2 + 3, 4
	usual := Count{Way: GetDone, Shards: 1, All: locks + data, Hottest: locks, Locks: 3, Kinds: map[string]float64{
		"mutex": locks, "headers of maps and queue": data,
	}}
	var counts []Count
	for _, traffic := range []string{Full, Steady, NearEmpty, Bursty} {
		c := usual
		c.Traffic = traffic
		counts = append(counts, c)
	}
	return append(counts, Count{
		Traffic: Sleeping, Way: GetDone, Shards: 1, Locks: 4,
		All: locks + data + wait + signal, Hottest: locks + 2,
		Kinds: map[string]float64{
			"mutex": locks + 2, "headers of maps and queue": data, "condition variable": wait - 2 + signal,
		},
	})
}
