package debugpage

import (
	"iter"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// What a queue may do besides describing itself. The page offers only what the
// queue has.
type (
	// A lister can list all items of a queue, and look up one.
	lister interface {
		InspectItems(state stats.State) iter.Seq[stats.Item[any]]
		InspectItem(item any) (stats.Item[any], bool)
	}
	pauser interface {
		Pause()
		Resume()
	}
	groupPauser interface {
		PauseGroup(group string, until time.Time)
		ResumeGroup(group string)
	}
	operated interface{ Operator() shardq.Operator }
)

// A named is a queue with its names.
type named struct {
	queue shardq.Inspector
	// name is the queue's own name, and title is how the page shows it.
	name, title string
	// id is the name that selects the queue.
	id string
	// number distinguishes the queue from others, including one that had its id
	// before. It is 0 if that is not known.
	number uint64
}

func newNamed(queue shardq.Inspector) named {
	name := nameOf(queue)
	return named{queue: queue, name: name, title: orNone(name != "", showText(name).inWords(), "unnamed")}
}

// nameOf returns the name of a queue, or none if it panics, as a nil queue
// does. Reading such a queue panics, too.
func nameOf(queue shardq.Inspector) (name string) {
	defer func() { _ = recover() }()
	return queue.Name()
}

// as returns the queue with some methods, if it has them. The methods of
// groupPauser panic if there are no groups.
func as[Methods any](n named) (queue Methods, ok bool) {
	queue, ok = n.queue.(Methods)
	if _, forGroups := any(&queue).(*groupPauser); ok && forGroups {
		ok = n.queue.Configuration().Groups
	}
	return queue, ok
}

// can reports whether a queue has some methods.
func can[Methods any](n named) bool {
	_, ok := as[Methods](n)
	return ok
}
