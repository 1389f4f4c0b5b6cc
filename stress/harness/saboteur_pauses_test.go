package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// TestEveryFaultOfPausesIsFound checks that the right check finds each fault.
func TestEveryFaultOfPausesIsFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  fault
		clause string
		says   string
	}{
		{"a group is not paused", pausesNoGroup, "C68", "after a pause of group"},
		{"a group is not paused until a moment", pausesNoGroupWithAnEnd, "C68", "after a pause of group"},
		{"a pause ends before its moment", endsPausesEarly, "C68", "after a pause of group"},
		{"the queue is not paused", pausesNoQueue, "C69", "after a pause of the queue"},
		{"rates of groups are ignored", ignoresGroupRates, "C67", "items of group"},
		{"the rate of the queue is ignored", ignoresRate, "C69", "items of the queue"},
		{"a group stays paused", resumesNoGroup, "C68", "all gates are open"},
		{"the queue stays paused", resumesNoQueue, "C68", "all gates are open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireFound(t, test.fault, Pauses|Groups|Readd, Drain, func(v Violation) bool {
				return v.Clause == test.clause && strings.Contains(v.Message, test.says)
			})
		})
	}
}

// TestEveryFaultOfPausesOfPoolsIsFound checks that the faults are also found
// where a pool handles the items.
func TestEveryFaultOfPausesOfPoolsIsFound(t *testing.T) {
	const mix = Pauses | Groups | Workers | Batches
	for _, test := range []struct {
		name   string
		fault  fault
		clause string
		says   string
	}{
		{"a group is not paused", pausesNoGroup, "C68", "after a pause of group"},
		{"a pause ends before its moment", endsPausesEarly, "C68", "after a pause of group"},
		{"the queue is not paused", pausesNoQueue, "C69", "after a pause of the queue"},
		{"a worker claims ahead", claimsAhead, "C68", "after a pause of group"},
		{"the rate of the queue is ignored", ignoresRate, "C69", "items of the queue"},
		{"a group stays paused", resumesNoGroup, "C68", "all gates are open"},
		{"the queue stays paused", resumesNoQueue, "C68", "all gates are open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := search{test.fault, mix, Workers | Groups | Pauses, Drain, 20_000}
			s.find(t, func(v Violation) bool {
				return v.Clause == test.clause && strings.Contains(v.Message, test.says)
			})
		})
	}
}

// TestPausesTakePartInSomeRounds checks that there are rounds with pauses, with
// and without groups and pools, and that every target has a rate in some of
// them.
func TestPausesTakePartInSomeRounds(t *testing.T) {
	grouped, rated, pools := map[bool]int{}, map[int]bool{}, 0
	for seed := range uint64(300) {
		p := Draw(seed, anything, Shardq().Features)
		g := newGates(p)
		if g == nil {
			continue
		}
		grouped[p.Mix.Has(Groups)]++
		if p.Mix.Has(Workers) && p.Ledger {
			pools++
		}
		for target, rate := range g.highest {
			if rate.PerSecond > 0 {
				rated[target] = true
				require.True(t, g.groups || target == wholeQueue)
			}
		}
	}
	require.Greater(t, min(grouped[true], grouped[false]), 10)
	require.Greater(t, pools, 5)
	require.Len(t, rated, targets)
	require.Zero(t, Draw(1, anything, Features{}).Mix&Pauses)
}

// TestMeter checks the bound of a rate.
func TestMeter(t *testing.T) {
	m := &meter{rate: shardq.Rate{PerSecond: 1000, Burst: 8}, from: 5e9}
	require.Equal(t, 9.0, m.most(5e9))
	require.Equal(t, 11.0, m.most(5e9+2e6))
}
