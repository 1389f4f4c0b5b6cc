package compare

import "time"

// These are the backoffs of every limiter in the comparison: the default of all
// queues here.
const (
	base    = 5 * time.Millisecond
	longest = 1000 * time.Second
)
