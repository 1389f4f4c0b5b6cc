package candidates

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
)

// A policy selects the shard of a Get.
type policy interface {
	// start returns the number of the shard from which to search for work,
	// given a bit for each shard that has some.
	start(ready uint64, head func(shard int) uint64) int
	// served is called under the shard's lock, after the shard has handed out
	// its count-th item.
	served(shard, count int)
	// stamped reports whether start compares the stamps of heads.
	stamped() bool
}

// unstamped is for policies that use no stamps and keep no records.
type unstamped struct{}

func (unstamped) stamped() bool   { return false }
func (unstamped) served(int, int) {}

// random starts anywhere.
type random struct {
	unstamped
	shards int
}

func newRandom(shards int) policy { return random{shards: shards} }

func (p random) start(uint64, func(int) uint64) int { return rand.IntN(p.shards) }

// ticket starts one shard further with every Get.
type ticket struct {
	unstamped
	shards uint32
	next   atomic.Uint32
}

func newTicket(shards int) policy { return &ticket{shards: uint32(shards)} }

func (p *ticket) start(uint64, func(int) uint64) int { return int(p.next.Add(1) % p.shards) }

// turns stays with a shard until it has handed out quantum items. Consumers
// start at several places, their lanes. This is package shard's policy, with
// four lanes and a quantum of eight.
type turns struct {
	shards, quantum int
	lanes           []lane
}

type lane struct {
	turn atomic.Uint32
	_    [60]byte
}

func newTurns(quantum, lanes int) func(shards int) policy {
	return func(shards int) policy {
		p := &turns{shards: shards, quantum: quantum, lanes: make([]lane, lanes)}
		for i := range p.lanes {
			p.lanes[i].turn.Store(uint32(i * shards / lanes))
		}
		return p
	}
}

func (p *turns) lane() *atomic.Uint32 { return &p.lanes[place()>>32%uint64(len(p.lanes))].turn }

func (p *turns) start(uint64, func(int) uint64) int { return int(p.lane().Load()) }

func (p *turns) served(shard, count int) {
	if count%p.quantum == 0 {
		p.lane().Store(uint32((shard + 1) % p.shards))
	}
}

func (p *turns) stamped() bool { return false }

// olderOfTwo draws two shards with work, and takes the one whose head has been
// ready longer: the MultiQueue's rule (Rihani, Sanders, Dementiev, SPAA 2015),
// on FIFOs.
type olderOfTwo struct{ shards uint32 }

func newOlderOfTwo(shards int) policy { return olderOfTwo{uint32(shards)} }

func (p olderOfTwo) start(ready uint64, head func(int) uint64) int {
	draw := rand.Uint64()
	a := firstFrom(ready, uint32(draw)%p.shards)
	b := firstFrom(ready, uint32(draw>>32)%p.shards)
	if head(b) < head(a) {
		return b
	}
	return a
}

func (olderOfTwo) served(int, int) {}
func (olderOfTwo) stamped() bool   { return true }

// firstFrom returns the number of the first bit of a set at or after start, or
// else the first.
func firstFrom(set uint64, start uint32) int {
	return (int(start) + bits.TrailingZeros64(bits.RotateLeft64(set, -int(start)))) % 64
}
