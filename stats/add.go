package stats

// An Add tells that an item is in line for a run: it was added, or its delay
// has expired, or its priority was raised. An add that a run to come serves
// anyway, and raises no priority, is none. With Canceled it tells the opposite.
type Add[T comparable] struct {
	// Item is the item.
	Item T
	// Priority is the priority of the run to come.
	Priority int
	// Expired reports that the item's delay has expired.
	Expired bool
	// Raised reports that the item was in line already, and that its priority
	// was raised.
	Raised bool
	// Before is the priority that it had before, if Raised is set.
	Before int
	// Canceled reports that the item, which was in line with the Priority, is
	// so no more, and that no consumer has it: because of Cancel, of a shutdown
	// with DiscardOnShutDown, or of a retry of a coalescer, whose delay serves
	// the add.
	Canceled bool
}
