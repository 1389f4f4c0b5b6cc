package shard

import "math/bits"

// A deal sorts the items of a batch by their shards, and keeps their order within
// each. It works on places in the batch, without allocating: like cards, the places
// are dealt to piles by the low bits of the shard's number, and picked up pile by pile.
type deal struct {
	// shard is the one whose places are in hand.
	shard    uint16
	hand     pile
	occupied uint64 // has a bit for each pile that is not empty
	dealt    uint64 // has a bit for each place that is on a pile, or was
	// touched keeps the result of touch, which the compiler would leave out otherwise.
	touched byte
	piles   [64]pile
	// By place: the hash and shard of the item, and the next place of its pile.
	hashes [batchSize]uint32
	tags   *[batchSize]tag // nil without groups, or where nothing is added
	shards [batchSize]uint16
	behind [batchSize]uint8
}

// A pile is a list of places, each as 1 + its number; 0 is none.
type pile struct{ first, last uint8 }

// deal puts the item at a place of the batch on its pile. It may call the user's hash.
func (s *Set[T]) deal(d *deal, place int, item T) {
	if d.tags == nil {
		sh, hash := s.locate(item)
		d.add(place, hash, sh.number)
		return
	}
	sh, to := s.addressOf(item)
	d.tags[place] = to.tag
	d.add(place, to.hash, sh.number)
}

// add puts the item at a place of the batch on the pile of its shard.
func (d *deal) add(place int, hash uint32, number uint16) {
	d.hashes[place], d.shards[place] = hash, number
	p := number % uint16(len(d.piles))
	d.put(&d.piles[p], uint8(place+1))
	d.occupied |= 1 << p
	d.dealt |= 1 << place
}

// address returns where in its shard the item at a place belongs.
func (d *deal) address(place int) address {
	if d.tags == nil {
		return address{hash: d.hashes[place]}
	}
	return address{d.hashes[place], d.tags[place]}
}

func (d *deal) put(p *pile, place uint8) {
	if p.first == 0 {
		p.first = place
	} else {
		d.behind[p.last-1] = place
	}
	p.last = place
	d.behind[place-1] = 0
}

// next picks up the places of another shard, or reports that there are none left.
func (d *deal) next() bool {
	if d.occupied == 0 {
		return false
	}
	p := &d.piles[bits.TrailingZeros64(d.occupied)]
	places := *p
	*p, d.hand = pile{}, pile{}
	d.shard = d.shards[places.first-1]
	for place := places.first; place != 0; {
		behind := d.behind[place-1]
		if d.shards[place-1] == d.shard {
			d.put(&d.hand, place)
		} else {
			d.put(p, place) // with more than 64 shards some share a pile
		}
		place = behind
	}
	if p.first == 0 {
		d.occupied &= d.occupied - 1
	}
	return true
}

// take takes the next place from the hand, or reports that it is empty.
func (d *deal) take() (place int, ok bool) {
	if d.hand.first == 0 {
		return 0, false
	}
	place = int(d.hand.first - 1)
	d.hand.first = d.behind[place]
	return place, true
}
