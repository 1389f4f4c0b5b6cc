package debugpage

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"sync"

	"github.com/shardq/shardq"
)

// A named is a queue with its names.
type named struct {
	queue shardq.Inspector
	// name is the queue's own name, and shown is how the page shows it.
	name, shown string
	// id is the name that selects the queue.
	id string
	// number distinguishes the queue from others, including one that had its id
	// before. It is 0 if that is not known.
	number uint64
}

// A directory has all queues in order, and an index by id.
type directory struct {
	all  []named
	byID map[string]int
}

func (d directory) has(id string) bool {
	_, ok := d.byID[id]
	return ok
}

// matching returns the queues whose id has a text in it.
func (d directory) matching(text string) []named {
	if text == "" {
		return d.all
	}
	var found []named
	for _, n := range d.all {
		if matches(n.id, text) {
			found = append(found, n)
		}
	}
	return found
}

// find returns the queue that an id selects.
func (d directory) find(id string) (named, error) {
	if i, ok := d.byID[id]; ok {
		return d.all[i], nil
	}
	return named{}, fmt.Errorf("there is no queue %s: it may be closed, or have another name", showText(id).inWords())
}

// names remembers the id of each queue. Queues that share a name are numbered,
// except the first. Numbers that follow from the order alone would change when
// the first queue goes: an open page would continue with another queue, and a
// link would lead to it.
//
// names remembers the queues of the last list. The id of any other queue is
// free.
type names struct {
	// handler distinguishes the numbers from those of other handlers, also in
	// other processes.
	handler string

	mu    sync.Mutex
	known map[identity]named
	// last is the last number that was assigned.
	last uint64
}

// instance returns a text that distinguishes a queue from all others, including
// earlier ones.
func (n *names) instance(queue named) string { return fmt.Sprintf("%s-%d", n.handler, queue.number) }

// An identity distinguishes a queue from others without keeping it alive.
// Queues with equal hashes, whether they are the same queue or not, are
// distinguished by their place among these, counted from 1. The zero identity
// is that of a queue that is not comparable, or nil.
type identity struct {
	kind  reflect.Type
	hash  uint64
	place int
}

var identitySeed = maphash.MakeSeed()

// identify returns the identities of queues.
func identify(queues []shardq.Inspector) []identity {
	identities, places := make([]identity, len(queues)), make(map[identity]int, len(queues))
	for i, queue := range queues {
		if queue == nil || !reflect.ValueOf(queue).Comparable() {
			continue
		}
		found := identity{kind: reflect.TypeOf(queue), hash: maphash.Comparable(identitySeed, queue)}
		places[found]++
		found.place = places[found]
		identities[i] = found
	}
	return identities
}

// nameAll returns a directory in which each id selects one queue. A queue keeps
// the id that it had in the list before. Otherwise its id is its own name, with
// a number if it has none or another queue has it.
func (n *names) nameAll(queues []shardq.Inspector) directory {
	identities := identify(queues)
	d := directory{make([]named, len(queues)), make(map[string]int, len(queues))}
	for i, queue := range queues {
		d.all[i] = newNamed(queue)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range queues {
		known, ok := n.known[identities[i]]
		if ok && known.name == d.all[i].name {
			d.give(i, known.id)
		}
		d.all[i].number = n.number(identities[i], known)
	}
	d.giveOthers()
	n.remember(identities, d)
	return d
}

// number returns the known number of a queue, or the next.
func (n *names) number(queue identity, known named) uint64 {
	if queue.place > 0 && known.number == 0 {
		n.last++
		return n.last
	}
	return known.number
}

// newNamed returns a queue that has no id yet.
func newNamed(queue shardq.Inspector) named {
	name := nameOf(queue)
	shown := showText(name).inWords()
	if name == "" {
		shown = "unnamed"
	}
	return named{queue: queue, name: name, shown: shown}
}

func (d directory) give(i int, id string) {
	d.all[i].id = id
	d.byID[id] = i
}

// giveOthers assigns ids to the queues that have none.
func (d directory) giveOthers() {
	last := map[string]int{} // the last number of each name
	for i := range d.all {
		if d.all[i].id != "" {
			continue
		}
		shown := d.all[i].shown
		id := shown
		for d.has(id) {
			last[shown] = max(last[shown], 1) + 1
			id = fmt.Sprintf("%s #%d", shown, last[shown])
		}
		d.give(i, id)
	}
}

// remember replaces the known queues by those of a directory.
func (n *names) remember(identities []identity, d directory) {
	n.known = make(map[identity]named, len(identities))
	for i, identity := range identities {
		if identity.place > 0 {
			n.known[identity] = named{name: d.all[i].name, id: d.all[i].id, number: d.all[i].number}
		}
	}
}

// nameOf returns the name of a queue, or none if it panics. A nil queue panics,
// for example. Reading it panics, too.
func nameOf(queue shardq.Inspector) (name string) {
	defer func() { _ = recover() }()
	return queue.Name()
}
