package shard

import "github.com/shardq/shardq/internal/shared"

// The groups of a shard from which something may be handed out stand in a ring and take turns:
// each is handed out as much as it weighs, and then it is the next one's turn. Who comes
// anew comes last.
//
// A group that has something ready is out of the ring while as much of it is in processing
// as the limit allows: it is held back. While a set holds a group back, there is
// something for its consumers to wait for, also after a shutdown.
type ring struct {
	// turn is the group whose turn it is; 0 if the ring is empty.
	turn uint32
	// throttled is the first of the groups that are held back, which are linked as
	// those in the ring are; 0 if there is none.
	throttled uint32
	// weights is what the groups in the ring weigh together.
	weights int64
	// left is how much the round will still hand out: see fair.
	left int64
}

// A ringPlace says whether a group takes part.
type ringPlace uint8

const (
	// nothingReady: it is not in the ring, for it has nothing.
	nothingReady ringPlace = iota
	// inRing: it has something, and may be served.
	inRing
	// heldBack: it has something, and is at its limit.
	heldBack
)

// groupBecameReady is called when a group has got something ready.
func (sh *shard[T]) groupBecameReady(id uint32, state *group[T]) {
	if sh.set.full(state.ready.processing) {
		sh.throttle(id, state)
		sh.set.heldBack.more()
	} else {
		sh.enterRing(id, state)
	}
}

// groupBecameEmpty is called when nothing of a group is ready any more.
func (sh *shard[T]) groupBecameEmpty(id uint32, state *group[T]) {
	if state.place == heldBack {
		sh.unthrottle(id, state)
		sh.set.heldBack.less()
	} else {
		sh.leaveRing(id, state)
	}
}

// enterRing puts a group behind all others.
func (sh *shard[T]) enterRing(id uint32, state *group[T]) {
	g := sh.groups
	state.place = inRing
	g.weights += int64(state.weight)
	if g.turn == 0 {
		sh.set.markReady(sh.number)
	}
	g.link(&g.turn, id, state)
}

func (sh *shard[T]) leaveRing(id uint32, state *group[T]) {
	g := sh.groups
	state.place, state.served = nothingReady, 0
	g.weights -= int64(state.weight)
	g.unlink(&g.turn, id, state)
	if g.turn == 0 {
		sh.set.markEmpty(sh.number)
	}
}

// throttle notes that a group is held back, unthrottle that it is not any more.
func (sh *shard[T]) throttle(id uint32, state *group[T]) {
	state.place = heldBack
	sh.groups.link(&sh.groups.throttled, id, state)
}

func (sh *shard[T]) unthrottle(id uint32, state *group[T]) {
	state.place = nothingReady
	sh.groups.unlink(&sh.groups.throttled, id, state)
}

// link puts a group behind all others of a circle that *first names.
func (g *groups[T]) link(first *uint32, id uint32, state *group[T]) {
	if *first == 0 {
		*first, state.next, state.previous = id, id, id
		return
	}
	head := g.at(*first)
	state.next, state.previous = *first, head.previous
	g.at(head.previous).next = id
	head.previous = id
}

// unlink takes a group out of its circle.
func (g *groups[T]) unlink(first *uint32, id uint32, state *group[T]) {
	if state.next == id {
		*first = 0
		return
	}
	g.at(state.previous).next = state.next
	g.at(state.next).previous = state.previous
	if *first == id {
		*first = state.next
	}
}

// weigh sets the weight of a group.
func (g *groups[T]) weigh(state *group[T], weight int32) {
	if state.place == inRing {
		g.weights += int64(weight) - int64(state.weight)
	}
	state.weight = weight
}

// full reports whether so much of a group is in processing as may be.
func (s *Set[T]) full(processing int32) bool { return s.groupLimit > 0 && processing >= s.groupLimit }

// hold takes a group that is full out of the ring, if it has something ready.
func (sh *shard[T]) hold(id uint32, state *group[T]) {
	if state.place == inRing && sh.set.full(state.ready.processing) {
		sh.set.heldBack.more() // before the ready bit may go out: see await
		sh.leaveRing(id, state)
		sh.throttle(id, state)
	}
}

// endInGroup notes that the processing of an entry is over, and reports whether its
// group comes back into the ring by that.
func (sh *shard[T]) endInGroup(id uint32) (freed bool) {
	of := sh.groupOf(id)
	state := sh.groups.at(of)
	sh.groups.processing--
	state.ready.processing--
	if state.place != heldBack || sh.set.full(state.ready.processing) {
		return false
	}
	sh.unthrottle(of, state)
	sh.enterRing(of, state) // which sets the ready bit before the count falls: see await
	sh.set.heldBack.less()
	return true
}

// A holdCount counts the groups of a set that are held back, and the changes of that count, in one
// word: whoever reads the same word twice knows that no group was held back or freed
// between. It is written under the shards' locks, and read without.
type holdCount struct {
	word shared.Uint64[shared.Throttled]
}

// oneChange is added for each change, to the half of the word above the count.
const oneChange = 1 << 32

func (c *holdCount) more() { c.word.Add(oneChange + 1) }
func (c *holdCount) less() { c.word.Add(oneChange - 1) } // the count is not 0

// read returns the word, and the count in it.
func (c *holdCount) read() (word uint64, count uint32) {
	word = c.word.Load()
	return word, uint32(word)
}

// noneSince reports whether no group is held back, and none was since the word was read.
func (c *holdCount) noneSince(before uint64) bool {
	word, count := c.read()
	return count == 0 && word == before
}
