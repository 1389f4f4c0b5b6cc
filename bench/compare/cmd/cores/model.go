package main

import "math"

// A machine has published prices of a transfer: the nanoseconds that a cache
// line takes from one core to another.
type machine struct {
	name string
	// group is the number of cores that are near to each other, socket that of
	// a socket, and cores that of the machine.
	group, socket, cores int
	// near, within and across are the prices within a group, between groups,
	// and between sockets.
	near, within, across float64
	source               string
}

// price returns the mean price between that number of cores, which are as close
// as possible.
func (m machine) price(cores int) float64 {
	if cores < 2 {
		return 0
	}
	grouped, inSocket := min(cores, m.group), min(cores, m.socket)
	sum := float64(grouped-1)*m.near + float64(inSocket-grouped)*m.within + float64(cores-inSocket)*m.across
	return sum / float64(cores-1)
}

// A design is a queue under some traffic, as the model describes it.
type design struct {
	name string
	// own is the work of an item on one core, in nanoseconds.
	own float64
	// writes and reads are an item's accesses to words that several or all
	// shards share. laneWrites are its writes to words that a lane shares.
	writes, reads, laneWrites float64
	lanes                     int
	// hottest is the number of writes to the line that has most of them.
	hottest float64
	// locks is how often an item takes a lock. servers is the number of locks.
	locks   float64
	servers int
	// lines is the number of lines that an item moves under locks, beside those
	// of the locks.
	lines float64
}

// away is the share of the uses of a line that find it in another core's cache,
// if that number of cores use it alike.
func away(cores float64) float64 { return max(0, 1-1/cores) }

// transfers returns the number of lines that an item moves between caches.
func (d design) transfers(cores int) float64 {
	c := float64(cores)
	// A read finds a line elsewhere if others have written to it since this
	// core read it. In that time each of the others has processed an item.
	stale := min(1, d.writes*(c-1))
	shared := (d.writes + d.locks + d.lines) * away(c)
	return shared + d.reads*stale*away(c) + d.laneWrites*away(c/float64(d.lanes))
}

// cost returns the nanoseconds that an item takes its core.
func (d design) cost(m machine, cores int) float64 {
	return d.own + d.transfers(cores)*m.price(cores)
}

// bounds returns the greatest number of items per nanosecond that locks and
// words allow, with any number of cores.
func (d design) bounds(m machine, cores int) (byLocks, byWords float64) {
	price, apart := m.price(cores), away(float64(cores))
	held := d.own + (d.locks+d.lines)*apart*price // an item's time under locks
	byLocks = float64(d.servers) / held
	byWords = math.Inf(1)
	if wait := d.hottest * apart * price; wait > 0 {
		byWords = 1 / wait
	}
	return byLocks, byWords
}

// throughput returns millions of items per second.
func (d design) throughput(m machine, cores int) float64 {
	byLocks, byWords := d.bounds(m, cores)
	return 1000 * min(float64(cores)/d.cost(m, cores), byLocks, byWords)
}

// limit returns what bounds the throughput.
func (d design) limit(m machine, cores int) string {
	byLocks, byWords := d.bounds(m, cores)
	switch byCores := float64(cores) / d.cost(m, cores); min(byCores, byLocks, byWords) {
	case byCores:
		return "cores"
	case byLocks:
		return "locks"
	default:
		return "a word"
	}
}
