package harness

import (
	"context"
	"strings"
	"testing"

	"github.com/shardq/shardq"
)

// Faults of windows of delayed adds, of AddContextWith and of AddBatchWith.
const (
	ignoresWindowsOfDelays fault = iota + 6500
	ignoresWindowsOfSilentDelays
	beginsWindowsAtDeadlines
	ignoresWindowsOfContexts
	shortensDelaysOfContexts
	refusesContexts
	ignoresWindowsOfBatches
	endsWindowsOfBatchesEarly
	shortensDelaysOfBatches
	losesFromBatches
	endsWindowsOfBatchesLate
)

// distort changes the options of an add, by the faults of all ways to add with
// options.
func (q *sabotaged) distort(o shardq.AddOptions) shardq.AddOptions {
	switch {
	case o.After <= 0:
	case q.fault == ignoresWindowsOfDelays:
		o.NotAgainWithin = 0
	case q.fault == beginsWindowsAtDeadlines && o.NotAgainWithin > 0:
		o.NotAgainWithin += o.After
	}
	return o
}

func (q *sabotaged) AddContextWith(
	ctx context.Context, item int, o shardq.AddOptions,
) error {
	o = q.distort(o)
	switch {
	case q.fault == ignoresWindowsOfContexts:
		o.NotAgainWithin = 0
	case q.fault == shortensDelaysOfContexts:
		o.After /= 2
	case q.fault == refusesContexts && q.every(50):
		return shardq.ErrNotAgain
	}
	return controlled[int]{q.Queue}.AddContextWith(ctx, item, o)
}

func (q *sabotaged) AddBatchWith(items []int, o shardq.AddOptions) {
	o = q.distort(o)
	switch {
	case q.fault == ignoresWindowsOfBatches:
		o.NotAgainWithin = 0
	case q.fault == endsWindowsOfBatchesEarly:
		o.NotAgainWithin /= 100
	case q.fault == shortensDelaysOfBatches:
		o.After /= 2
	case q.fault == losesFromBatches && q.every(5):
		items = items[1:]
	case q.fault == endsWindowsOfBatchesLate:
		o.NotAgainWithin *= 2
	}
	controlled[int]{q.Queue}.AddBatchWith(items, o)
}

// TestEveryFaultOfOtherWindowsIsFound checks that the right check finds each
// fault.
func TestEveryFaultOfOtherWindowsIsFound(t *testing.T) {
	const (
		bothOpen = "the windows of both adds are open"
		handed   = "was handed out, and its latest add"
		late     = "after its window had ended"
		early    = "before its deadline"
		noRun    = "has no run after it"
		noWindow = "no window was open"
	)
	for _, test := range []struct {
		name   string
		fault  fault
		clause string
		says   string
	}{
		{"windows of delays are ignored", ignoresWindowsOfDelays, "C80", bothOpen},
		{"silent delays ignore windows", ignoresWindowsOfSilentDelays, "C80", handed},
		{"windows begin at deadlines", beginsWindowsAtDeadlines, "C80", late},
		{"AddContextWith ignores windows", ignoresWindowsOfContexts, "C80", bothOpen},
		{"AddContextWith shortens delays", shortensDelaysOfContexts, "C19", early},
		{"AddContextWith refuses without a window", refusesContexts, "C80", noWindow},
		{"batches ignore windows", ignoresWindowsOfBatches, "C80", handed},
		{"windows of batches end early", endsWindowsOfBatchesEarly, "C80", bothOpen},
		{"windows of batches end late", endsWindowsOfBatchesLate, "C80", late},
		{"batches shorten delays", shortensDelaysOfBatches, "C19", early},
		{"batches lose items", losesFromBatches, "C2", noRun},
	} {
		t.Run(test.name, func(t *testing.T) {
			const mix = Windows | Delays | Batches | Steps
			s := search{test.fault, mix, Windows | Delays, Drain, 20_000}
			s.find(t, func(v Violation) bool {
				return v.Clause == test.clause && strings.Contains(v.Message, test.says)
			})
		})
	}
}
