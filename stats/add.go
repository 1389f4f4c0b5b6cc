package stats

// An Add tells that an item is in line for a run: it was added, or its delay
// has expired, or its priority was raised. If Canceled is set, the item has
// left the line.
type Add[T comparable] struct {
	Item     T
	Priority int // of the run to come
	// Expired reports that the item's delay has expired.
	Expired bool
	// Raised reports that the item was in line already, and that its priority
	// was raised.
	Raised bool
	// Before is the priority that it had before, if Raised is set.
	Before int
	// Canceled reports that the item was in line with the Priority, and has
	// left the line without a Get.
	Canceled bool
}
