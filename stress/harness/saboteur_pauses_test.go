package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// Faults of pauses and rates.
const (
	pausesNoGroup fault = iota + 5000
	pausesNoGroupWithAnEnd
	endsPausesEarly
	pausesNoQueue
	resumesNoGroup
	resumesNoQueue
	ignoresGroupRates
	ignoresRate
	claimsAhead
)

func (q *sabotaged) PauseGroup(group string, until time.Time) {
	switch {
	case q.fault == pausesNoGroup, q.fault == pausesNoGroupWithAnEnd && !until.IsZero():
		return
	case q.fault == endsPausesEarly && !until.IsZero():
		until = until.Add(-2 * time.Millisecond)
	}
	q.Queue.PauseGroup(group, until)
}

func (q *sabotaged) ResumeGroup(group string) {
	if q.fault != resumesNoGroup {
		q.Queue.ResumeGroup(group)
	}
}

func (q *sabotaged) Pause() {
	if q.fault != pausesNoQueue {
		q.Queue.Pause()
	}
}

func (q *sabotaged) Resume() {
	if q.fault != resumesNoQueue {
		q.Queue.Resume()
	}
}

func (q *sabotaged) SetRate(r shardq.Rate) {
	if q.fault != ignoresRate {
		q.Queue.SetRate(r)
	}
}

// claimAhead takes some more items than it returns, and keeps them for later
// calls.
func (q *sabotaged) claimAhead(
	ctx context.Context, dst []worker.Claim[int],
) (n int, err error) {
	if c, kept := q.unkeep(); kept {
		dst[0] = c
		return 1, nil
	}
	n, err = q.Queue.ClaimBatch(ctx, dst)
	q.mu.Lock()
	defer q.mu.Unlock()
	for range 16 * n {
		c, ok := q.TryClaim()
		if !ok {
			break
		}
		q.kept = append(q.kept, c)
	}
	return n, err
}

func (q *sabotaged) unkeep() (c worker.Claim[int], kept bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.kept); n > 0 {
		c, q.kept = q.kept[n-1], q.kept[:n-1]
		return c, true
	}
	return c, false
}

// A pauseFault is a fault, and the violation that must reveal it.
type pauseFault struct {
	name   string
	fault  fault
	clause string
	says   string
}

func (f pauseFault) revealedBy(v Violation) bool {
	return v.Clause == f.clause && strings.Contains(v.Message, f.says)
}

// pauseFaults are found whether a pool or other consumers handle the items.
var pauseFaults = []pauseFault{
	{"a group is not paused", pausesNoGroup, "C68", "after a pause of group"},
	{"a pause ends before its moment", endsPausesEarly, "C68", "after a pause of group"},
	{"the queue is not paused", pausesNoQueue, "C69", "after a pause of the queue"},
	{"the rate of the queue is ignored", ignoresRate, "C69", "items of the queue"},
	{"a group stays paused", resumesNoGroup, "C68", "all gates are open"},
	{"the queue stays paused", resumesNoQueue, "C68", "all gates are open"},
}

// TestEveryFaultOfPausesIsFound checks that the right check finds each fault.
func TestEveryFaultOfPausesIsFound(t *testing.T) {
	for _, test := range append([]pauseFault{
		{"a group is not paused until a moment", pausesNoGroupWithAnEnd, "C68", "after a pause of group"},
		{"rates of groups are ignored", ignoresGroupRates, "C67", "items of group"},
	}, pauseFaults...) {
		t.Run(test.name, func(t *testing.T) {
			requireFound(t, test.fault, Pauses|Groups|Readd, Drain, test.revealedBy)
		})
	}
}

// TestEveryFaultOfPausesOfPoolsIsFound checks that the faults are also found
// where a pool handles the items.
func TestEveryFaultOfPausesOfPoolsIsFound(t *testing.T) {
	const mix = Pauses | Groups | Workers | Batches
	for _, test := range append([]pauseFault{
		{"a worker claims ahead", claimsAhead, "C68", "after a pause of group"},
	}, pauseFaults...) {
		t.Run(test.name, func(t *testing.T) {
			s := search{test.fault, mix, Workers | Groups | Pauses, Drain, 20_000}
			s.find(t, test.revealedBy)
		})
	}
}
