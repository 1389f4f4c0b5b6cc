package stats

import "fmt"

// Misuse describes a call that the queue ignored because it breaks the rules.
type Misuse[T comparable] struct {
	// Queue is the name of the queue.
	Queue string
	// Kind says which rule was broken.
	Kind MisuseKind
	// Item is the argument of the call.
	Item T
}

// A MisuseKind names the rule that a call broke.
type MisuseKind uint8

const (
	// DoneWithoutGet is a Done of an item that is not in processing: it was
	// never handed out, or its Done was called already.
	DoneWithoutGet MisuseKind = iota + 1
	// ItemNotEqualToItself is an item such as NaN, which no look-up could find
	// again. The queue rejects it.
	ItemNotEqualToItself
)

// String returns the name of the rule, for logs.
func (k MisuseKind) String() string {
	switch k {
	case DoneWithoutGet:
		return "Done without Get"
	case ItemNotEqualToItself:
		return "item not equal to itself"
	}
	return fmt.Sprintf("Misuse(%d)", uint8(k))
}
