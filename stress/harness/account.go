package harness

import (
	"fmt"
	"time"

	"github.com/shardq/shardq"
)

// account counts the operations of a round, or of all rounds.
type account struct {
	rounds                int
	operations            uint64
	gets, dones           uint64
	deduplicated, expired uint64
	histories, undecided  int
	lateness              *lateness
	asked
}

// asked counts the calls that asked something of the queue.
type asked struct {
	immediate, sure  uint64 // immediate adds, and those that were surely not dropped
	deferred         uint64 // adds with a delay
	limited, forgets uint64 // AddRateLimited and Forget
	delayedGets      uint64 // Gets of delayed keys
	perhaps          uint64 // adds that are immediate or have no effect
	withdrawn        uint64 // canceled adds that had requested a run
	calledOff        uint64 // canceled delays
	cancels          uint64 // Cancels that had an effect
	again            uint64 // adds that were refused because of a window
	refused          uint64 // adds that were rejected for lack of room
	claims           uint64 // claims that were taken and have ended
	late, beside     uint64 // ends of claims that had ended, and those while the caller had the key
	// Calls of the limiter that may or may not have been made: see workerPool.
	perhapsLimited, perhapsForgets uint64
}

// canceled counts the effect of a Cancel.
func (a *asked) canceled(was shardq.Canceled) {
	if was.Any() {
		a.cancels++
	}
	if was.Ready || was.Dirty {
		a.withdrawn++
	}
	if was.Delayed {
		a.calledOff++
	}
}

// count counts an add that no panic prevented.
//
//go:norace
func (a *asked) count(op operation, delay time.Duration) {
	if op == opAdd || op == opAddAfter && delay <= 0 {
		a.immediate++
	} else {
		a.deferred++
	}
}

func (a *asked) add(b asked) {
	a.immediate += b.immediate
	a.sure += b.sure
	a.deferred += b.deferred
	a.limited += b.limited
	a.forgets += b.forgets
	a.delayedGets += b.delayedGets
	a.perhaps += b.perhaps
	a.withdrawn += b.withdrawn
	a.calledOff += b.calledOff
	a.cancels += b.cancels
	a.refused += b.refused
	a.again += b.again
	a.perhapsLimited += b.perhapsLimited
	a.perhapsForgets += b.perhapsForgets
	a.claims += b.claims
	a.late += b.late
	a.beside += b.beside
}

func newAccount() *account { return &account{lateness: &lateness{}} }

func (a *account) add(b *account) {
	a.rounds += b.rounds
	a.asked.add(b.asked)
	a.operations += b.operations
	a.gets += b.gets
	a.dones += b.dones
	a.deduplicated += b.deduplicated
	a.expired += b.expired
	a.histories += b.histories
	a.undecided += b.undecided
	a.lateness.merge(b.lateness)
}

// report formats the counts after a time.
func (a *account) report(elapsed time.Duration, peak, final uint64) string {
	seconds := elapsed.Seconds()
	text := fmt.Sprintf("%d rounds in %v\n", a.rounds, elapsed.Round(time.Millisecond))
	text += fmt.Sprintf("operations  %d (%.0f/s)\n", a.operations, float64(a.operations)/seconds)
	text += fmt.Sprintf("items       %d handed out (%.0f/s)\n", a.gets, float64(a.gets)/seconds)
	text += fmt.Sprintf("adds deduplicated %d, canceled %d, rejected %d, within a window %d\n", a.deduplicated, a.withdrawn, a.refused, a.again)
	text += fmt.Sprintf("claims      %d, ended too late %d times, of which %d while the caller had the item\n", a.claims, a.late, a.beside)
	text += fmt.Sprintf("delays      %d expired\n", a.expired)
	if n := a.lateness.count(); n > 0 {
		text += fmt.Sprintf("lateness    %v, of %d\n", a.lateness, n)
	}
	text += fmt.Sprintf("histories   %d checked, %d undecided\n", a.histories, a.undecided)
	text += fmt.Sprintf("heap        peak %.1f MiB, final %.1f MiB", mebibytes(peak), mebibytes(final))
	return text
}

func mebibytes(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
