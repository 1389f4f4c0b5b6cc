package compare

import "time"

// The back-off of every limiter that is compared: the default of all queues here.
const (
	base    = 5 * time.Millisecond
	longest = 1000 * time.Second
)
