package debugpage

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"sync"

	"github.com/shardq/shardq"
)

// A named is a queue with how it is called and found.
type named struct {
	queue shardq.Observable
	// name is the queue's own, and shown what is shown of it.
	name, shown string
	// id is the name that selects the queue.
	id string
	// number tells the queue from others, also from one that had its id before. It is 0 if that is not known.
	number uint64
}

// A directory has all queues, in order, and where each id is.
type directory struct {
	all  []named
	byID map[string]int
}

func (d directory) has(id string) bool {
	_, ok := d.byID[id]
	return ok
}

// find returns the queue that an id selects.
func (d directory) find(id string) (named, error) {
	if i, ok := d.byID[id]; ok {
		return d.all[i], nil
	}
	return named{}, fmt.Errorf("there is no queue %s: it may be closed, or have another name", showText(id).inWords())
}

// names remembers which queue has which id. Of several queues of one name all but the first have a number, and if
// that came from the order alone, the second would be the first as soon as that is gone: a page that is open would go on
// with another queue, and a link would lead to it.
//
// It knows the queues of the last list that it was given. The id of one that is not in it is free.
type names struct {
	// handler tells the numbers from those of other handlers, in other processes, too.
	handler string

	mu    sync.Mutex
	known map[identity]named
	// last is the number that was given last.
	last uint64
}

// instance returns what tells a queue from all others, those of before included.
func (n *names) instance(queue named) string { return fmt.Sprintf("%s-%d", n.handler, queue.number) }

// An identity tells a queue from others, without keeping it alive: it is forgotten only when somebody looks again. Of
// those whose hashes are the same, for they are the same queue or by chance, the place among them counts, from 1. The
// zero identity is that of a queue that cannot be compared, or is nil.
type identity struct {
	kind  reflect.Type
	hash  uint64
	place int
}

var identitySeed = maphash.MakeSeed()

// identify returns the identities of queues.
func identify(queues []shardq.Observable) []identity {
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

// nameAll gives all queues names that select one each: what they had in the list before, or else their own, with a number
// if they have none, or another queue has it.
func (n *names) nameAll(queues []shardq.Observable) directory {
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

// number returns the number of a queue: that which it is known by, or the next.
func (n *names) number(queue identity, known named) uint64 {
	if queue.place > 0 && known.number == 0 {
		n.last++
		return n.last
	}
	return known.number
}

// newNamed returns a queue that has no id yet.
func newNamed(queue shardq.Observable) named {
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

// giveOthers gives ids to those that have none.
func (d directory) giveOthers() {
	last := map[string]int{} // the number that a name was given last
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

// remember replaces what is known by the queues of a directory.
func (n *names) remember(identities []identity, d directory) {
	n.known = make(map[identity]named, len(identities))
	for i, identity := range identities {
		if identity.place > 0 {
			n.known[identity] = named{name: d.all[i].name, id: d.all[i].id, number: d.all[i].number}
		}
	}
}

// nameOf returns a queue's name, or none if it panics, for it is nil, say: then reading it does, too.
func nameOf(queue shardq.Observable) (name string) {
	defer func() { _ = recover() }()
	return queue.Name()
}
