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

// A named is a queue with its own name, the title by which the page shows it,
// and the id that selects it. Its number distinguishes it from others,
// including one that had its id before. It is 0 if that is not known.
type named struct {
	queue           shardq.Inspector
	name, title, id string
	number          uint64
}

// newNamed returns a queue without an id. It has no name if Name panics, as
// that of a nil queue does. Reading such a queue panics, too.
func newNamed(queue shardq.Inspector) (n named) {
	n = named{queue: queue, title: "unnamed"}
	defer func() { _ = recover() }()
	if n.name = queue.Name(); n.name != "" {
		n.title = showText(n.name).inWords()
	}
	return n
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
