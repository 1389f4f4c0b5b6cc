package stats

// Priority counts the ready items of one priority.
type Priority struct {
	Priority, Ready int
}
