package main

import "github.com/shardq/shardq/bench/sharedwrites"

// rowBits is the number of shards whose ready bits share a word. wordRows is
// the number of such words that a Get reads together: see shard/readybits.go.
const (
	rowBits  = 16
	wordRows = 4
)

// These are the lines that an item moves beside those of locks, counted by
// hand. In shardq they are the slot of the index in Add and in Done, the item's
// entry in Add and in Get, and the entry before it. In client-go they are, in
// Add, the queue's fields, the header and a group of the dirty map, and the
// cell of the slice; in Get, the fields, the cell, and header and group of both
// maps; in Done, the fields, header and group of the map of processing, and the
// group of the dirty map.
const (
	ourLines   = 5
	theirLines = 4 + 6 + 4
)

// These are the designs, by the positions of their own work in a list.
const (
	full = iota
	nearEmpty
	batches
	peer
	peerNearEmpty
	designs
)

// names are the names of the designs.
var names = [designs]string{
	"shardq, full", "shardq, near-empty", "shardq, claims in batches of 64", "client-go, full", "client-go, near-empty",
}

// atBest is added to the names of client-go's designs if their lines never
// move, because the same core takes the mutex again and again.
const atBest = " at best"

// designsFor returns the designs on a machine with that number of cores.
func designsFor(own [designs]float64, cores int) []design {
	return []design{
		ours(names[full], own[full], count(sharedwrites.Full, sharedwrites.GetDone, shards(cores)), cores, 1),
		ours(names[nearEmpty], own[nearEmpty], count(sharedwrites.NearEmpty, sharedwrites.GetDone, shards(cores)), cores, 1),
		ours(names[batches], own[batches], count(sharedwrites.Full, sharedwrites.Batches, shards(cores)), cores, 8),
		theirs(names[peer], own[peer]),
		theirs(names[peerNearEmpty], own[peerNearEmpty]),
	}
}

func theirs(name string, own float64) design {
	return design{name: name, own: own, locks: 3, lines: theirLines, servers: 1, lanes: 1}
}

// still returns a design of client-go whose lines never move.
func (d design) still() design {
	return design{name: d.name + atBest, own: d.own, servers: 1, lanes: 1}
}

// ours returns a design of shardq. perGet is the mean number of items that a
// Get returns.
func ours(name string, own float64, c sharedwrites.Count, cores int, perGet float64) design {
	n := shards(cores)
	rows := float64(max(n/rowBits, 1))
	return design{
		name: name, own: own, lines: ourLines,
		writes: c.All + c.Some, reads: min(rows, wordRows) / perGet, laneWrites: c.Lane, lanes: lanes(cores),
		hottest: max(c.All, c.Some/rows, c.Lane/float64(lanes(cores))), locks: c.Locks, servers: n,
	}
}

// shards returns the default number of shards of a queue with that number of
// processors: see shard.DefaultShards. lanes does the same for lanes: see
// newLanes in shard/turn.go.
func shards(processors int) int {
	return powerOfTwo(min(max(min(16*processors, 32), 4*processors), 256))
}

func lanes(processors int) int { return powerOfTwo(min(max(processors, 4), 16)) }

func powerOfTwo(n int) (power int) {
	for power = 1; power < n; power *= 2 {
	}
	return power
}

// count returns the count with the nearest number of shards that is not above.
func count(traffic, way string, shards int) (found sharedwrites.Count) {
	for _, c := range sharedwrites.Counts() {
		if c.Traffic == traffic && c.Way == way && c.Feature == "" && (found.Way == "" || c.Shards <= shards) {
			found = c
		}
	}
	if found.Way == "" {
		panic("cores: counts.json has no " + traffic + ", " + way)
	}
	return found
}
