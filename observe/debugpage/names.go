package debugpage

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"sync"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

type directory struct {
	all  []named
	byID map[string]int
}

func (d directory) find(id string) (named, error) {
	if i, ok := d.byID[id]; ok {
		return d.all[i], nil
	}
	return named{}, fmt.Errorf("there is no queue %s: it may be closed, or have another name", showItem(id).inWords())
}

// names remembers the ids of the queues in the last list. Numbers that follow
// from the order alone would change when the first queue of a name goes, and an
// open page would continue with another queue.
type names struct {
	handler string // distinguishes the numbers from those of other handlers
	mu      sync.Mutex
	known   map[identity]named // without their queues
	last    uint64             // number that was assigned
}

// An identity distinguishes a queue without keeping it alive. Queues with equal
// hashes differ in their place among these, from 1. A queue that is not
// comparable, or nil, has the zero identity.
type identity struct {
	kind  reflect.Type
	hash  uint64
	place int
}

// seed is random, so that an id says nothing about a key that is redacted.
var seed = maphash.MakeSeed()

func identify(queues []shardq.Inspector) []identity {
	identities, places := make([]identity, len(queues)), make(map[identity]int, len(queues))
	for i, queue := range queues {
		if queue != nil && reflect.ValueOf(queue).Comparable() {
			found := identity{kind: reflect.TypeOf(queue), hash: maphash.Comparable(seed, queue)}
			places[found]++
			found.place = places[found]
			identities[i] = found
		}
	}
	return identities
}

// nameAll returns a directory of queues. A queue keeps its id of the list
// before. Otherwise that is its name, with a number if another queue has it.
func (n *names) nameAll(queues []shardq.Inspector) directory {
	identities := identify(queues)
	d := directory{each(queues, newNamed), make(map[string]int, len(queues))}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range queues {
		before, ok := n.known[identities[i]]
		if ok && before.name == d.all[i].name {
			d.give(i, before.id)
		}
		if d.all[i].number = before.number; !ok && identities[i].place > 0 {
			n.last++
			d.all[i].number = n.last
		}
	}
	d.giveOthers()
	n.known = make(map[identity]named, len(queues))
	for i, one := range d.all {
		if one.queue = nil; identities[i].place > 0 {
			n.known[identities[i]] = one
		}
	}
	return d
}

func (d directory) give(i int, id string) {
	d.all[i].id = id
	d.byID[id] = i
}

func (d directory) giveOthers() {
	last := map[string]int{} // the last number of each title
	for i, one := range d.all {
		if one.id != "" {
			continue
		}
		id := one.title
		for taken := true; taken; {
			if _, taken = d.byID[id]; taken {
				last[one.title] = max(last[one.title], 1) + 1
				id = fmt.Sprintf("%s #%d", one.title, last[one.title])
			}
		}
		d.give(i, id)
	}
}

// A named is a queue with its title on the page, and the id that selects it.
// Its number tells it also from one that had its id before.
type named struct {
	queue           shardq.Inspector
	name, title, id string
	number          uint64
}

// newNamed returns a queue without an id, and without a name if Name panics.
func newNamed(queue shardq.Inspector) (n named) {
	n = named{queue: queue, title: "unnamed"}
	defer func() { _ = recover() }()
	if n.name = queue.Name(); n.name != "" {
		n.title = showItem(n.name).inWords()
	}
	return n
}

func (n named) operator() (operator stats.Operator) {
	defer func() { _ = recover() }() // of a nil queue
	return n.queue.Inspect().Operator()
}

// groupOperator is nil without groups, because its methods would panic.
func (n named) groupOperator() stats.Operator {
	if operator := n.operator(); operator != nil && n.queue.Inspect().Configuration().Groups {
		return operator
	}
	return nil
}
