package worker

import "fmt"

// A Reason says why an item will not run again.
type Reason uint8

const (
	// ReasonNone: the item may run again.
	ReasonNone Reason = iota
	// ReasonPermanent: the handler returned an error of [Permanent].
	ReasonPermanent
	// ReasonExhausted: the last of [Options].MaxAttempts attempts failed.
	ReasonExhausted
	// ReasonShutDown: a shutdown had begun, so the item could not become ready
	// again, or a drain dropped it while it was delayed.
	ReasonShutDown
	// ReasonRefused: the [Owner] did not accept the item again, for a reason of
	// its own.
	ReasonRefused
)

var reasonNames = [...]string{"none", "permanent", "exhausted", "shutdown", "refused"}

// String returns one word, such as "exhausted".
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}
