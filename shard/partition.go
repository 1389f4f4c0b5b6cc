package shard

import (
	"math/bits"
	"unsafe"

	"github.com/shardq/shardq/shard/internal/items"
	"github.com/shardq/shardq/shard/internal/line"
)

// A partition sorts places in a batch into buckets by shards, in order.
type partition struct {
	keys       items.Keys // of the batch, when items are added
	shard      uint16     // of the current bucket
	current    bucket
	occupied   uint64 // has a bit for each bucket that is not empty
	placed     uint64 // has a bit for each place that was ever put into a bucket
	prefetched byte   // keeps the compiler from removing prefetches
	buckets    [64]bucket
	hashes     [batchSize]uint32 // by place, like the fields below; behind is the next place of a bucket
	shards     [batchSize]uint16
	behind     [batchSize]uint8
	tags       *[batchSize]line.Tag // nil without groups, or where nothing is added
}

// A bucket is a list of places, each as 1 + its number. 0 is none.
type bucket struct{ first, last uint8 }

func (p *partition) add(place int, number uint16) {
	p.shards[place] = number
	b := number % uint16(len(p.buckets))
	p.put(&p.buckets[b], uint8(place+1))
	p.occupied |= 1 << b
	p.placed |= 1 << place
}

func (p *partition) address(place int) address {
	if p.tags == nil {
		return address{hash: p.hashes[place]}
	}
	return address{hash: p.hashes[place], Tag: p.tags[place]}
}

func (p *partition) put(b *bucket, place uint8) {
	if b.first == 0 {
		b.first = place
	} else {
		p.behind[b.last-1] = place
	}
	b.last = place
	p.behind[place-1] = 0
}

func (p *partition) next() bool {
	if p.occupied == 0 {
		return false
	}
	b := &p.buckets[bits.TrailingZeros64(p.occupied)]
	places := *b
	*b, p.current = bucket{}, bucket{}
	p.shard = p.shards[places.first-1]
	for place := places.first; place != 0; {
		behind := p.behind[place-1]
		if p.shards[place-1] == p.shard {
			p.put(&p.current, place)
		} else {
			p.put(b, place) // with more than 64 shards, some share a bucket
		}
		place = behind
	}
	if b.first == 0 {
		p.occupied &= p.occupied - 1
	}
	return true
}

func (p *partition) take() (place int, ok bool) {
	if p.current.first == 0 {
		return 0, false
	}
	place = int(p.current.first - 1)
	p.current.first = p.behind[place]
	return place, true
}

// prefetch reads the first byte of every string that is about to be hashed.
// Usually it is in no cache. In this short loop the processor has several reads
// in flight, while a hash waits for each in turn.
func (p *partition) prefetch(strings []uintptr, count int) {
	for _, offset := range strings {
		for i := range count {
			text := *(*string)(unsafe.Add(unsafe.Pointer(p.keys.At(i)), offset))
			if len(text) > 0 {
				p.prefetched += text[0]
			}
		}
	}
}

// prefetchSlots reads the slots at which look-ups begin, for the same reason.
func (sh *shard) prefetchSlots(p *partition) {
	if sh.table == nil {
		return
	}
	sum := uint32(0)
	for place := p.current.first; place != 0; place = p.behind[place-1] {
		sum += sh.table.Home(p.hashes[place-1])
	}
	p.prefetched += byte(sum)
}

// prefetchTimers follows prefetchSlots, and reads the entries with their timers.
func (sh *shard) prefetchTimers(p *partition) {
	if sh.table == nil || sh.wheel == nil {
		return
	}
	sum := uint64(0)
	for place := p.current.first; place != 0; place = p.behind[place-1] {
		if id := sh.table.Candidate(p.hashes[place-1]); id != 0 {
			deadline, _ := sh.wheel.Deadline(id)
			sum += uint64(sh.table.At(id).Hash) + deadline
		}
	}
	p.prefetched += byte(sum)
}

func (sh *shard) prefetchClaimed(p *partition, handles []Handle) {
	sum := uint32(0)
	for place := p.current.first; place != 0; place = p.behind[place-1] {
		if e := sh.claimed(handles[place-1]); e != nil {
			sum += sh.table.Home(e.Hash)
		}
	}
	p.prefetched += byte(sum)
}

// prefetchTimer lets the processor fetch a timer and its entry at once.
func (sh *shard) prefetchTimer(hash uint32) {
	if sh.table != nil {
		if id := sh.table.Candidate(hash); id != 0 {
			sh.wheel.prefetched, _ = sh.wheel.Deadline(id)
		}
	}
}

const batchSize = 64 // bounds how long one call holds a shard's lock
