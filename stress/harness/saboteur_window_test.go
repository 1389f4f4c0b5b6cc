package harness

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// Faults of windows.
const (
	ignoresWindows fault = iota + 6000
	ignoresWindowsAtTimes
	ignoresWindowsInSilence
	endsWindowsEarly
	endsNoWindow
	refusesWithoutAWindow
)

func (q *sabotaged) TryAddWith(item int, o shardq.AddOptions) error {
	o = q.distort(o)
	switch {
	case q.fault == ignoresWindows, q.fault == ignoresWindowsAtTimes && q.every(50):
		o.NotAgainWithin = 0
	case q.fault == endsWindowsEarly:
		o.NotAgainWithin /= 2
	case q.fault == endsNoWindow:
		o.NotAgainWithin = 2 * longWindow
	case q.fault == refusesWithoutAWindow && q.every(50):
		return shardq.ErrNotAgain
	}
	return controlled[int]{q.Queue}.TryAddWith(item, o)
}

// TestEveryFaultOfWindowsIsFound checks that the right check finds each fault.
func TestEveryFaultOfWindowsIsFound(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault fault
		says  string
	}{
		{"windows are ignored", ignoresWindows, "the windows of both adds are open"},
		{"some windows are ignored", ignoresWindowsAtTimes, "the windows of both adds are open"},
		{"windows are ignored where the add says nothing", ignoresWindowsInSilence, "was handed out, and its latest add"},
		{"windows end early", endsWindowsEarly, "the windows of both adds are open"},
		{"windows do not end", endsNoWindow, "after its window had ended"},
		{"adds are refused without a window", refusesWithoutAWindow, "no window was open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireFound(t, test.fault, Windows|Cancels, Drain, func(v Violation) bool {
				return v.Clause == "C80" && strings.Contains(v.Message, test.says)
			})
		})
	}
}

// TestWindowsOfTwoAdds checks which pairs of accepted adds are a violation.
func TestWindowsOfTwoAdds(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		second    time.Duration // the time of the second add
		first     time.Duration // the length of the first window
		canceling bool
		wrong     bool
	}{
		"within the window":         {second: 3 * ms, first: 4 * ms, wrong: true},
		"when the window has ended": {second: 4 * ms, first: 4 * ms},
		"after a Cancel":            {second: 3 * ms, first: 4 * ms, canceling: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Plan{Keys: 4}, &violations{})
			at := time.Duration(0)
			l.time = func() int64 { return int64(at) }
			l.accepted(0, l.windowOf(0, test.first))
			if test.canceling {
				l.closeWindow(0)()
			}
			at = test.second
			l.accepted(0, l.windowOf(0, time.Second))
			require.Equal(t, test.wrong, len(l.violated.all()) == 1, "%v", l.violated.all())
		})
	}
}
