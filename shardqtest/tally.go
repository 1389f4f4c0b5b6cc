package shardqtest

// maxAttemptsOfAll is MaxAttempts of all items together.
const maxAttemptsOfAll = 100 * MaxAttempts

// A tally counts attempts, so that a call of a Driver ends.
type tally struct {
	all int
	of  map[any]int // by the key of the item
}

func newTally() *tally { return &tally{of: map[any]int{}} }

// add counts an attempt, and returns how many its item has.
func (l *tally) add(key any) int {
	l.all++
	l.of[key]++
	return l.of[key]
}
