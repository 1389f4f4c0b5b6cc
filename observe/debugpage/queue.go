package debugpage

import (
	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
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

// operator returns what changes the queue. It is nil if nothing does.
func (n named) operator() (operator stats.Operator) {
	defer func() { _ = recover() }() // of a nil queue
	return n.queue.Inspect().Operator()
}

// groupOperator is operator of a queue with groups. Without them it is nil,
// because the methods about groups would panic.
func (n named) groupOperator() stats.Operator {
	if operator := n.operator(); operator != nil && n.queue.Inspect().Configuration().Groups {
		return operator
	}
	return nil
}
