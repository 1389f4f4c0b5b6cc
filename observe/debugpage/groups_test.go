package debugpage

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// TestWhyGroupsAreThrottled checks the rows and the pages of groups that are
// throttled by each reason, and of one that is paused with nothing ready.
func TestWhyGroupsAreThrottled(t *testing.T) {
	fake := newFake()
	queue := shardq.MustNew(shardq.Options[string]{
		Name: "mails", Shards: 1, Clock: fake, Ages: true,
		Group: func(item string) string { tenant, _, _ := strings.Cut(item, "/"); return tenant },
		GroupPolicy: func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Limit: 1, Rate: func(group string) shardq.Rate {
				if group == "rated" {
					return shardq.Rate{PerSecond: 0.5}
				}
				return shardq.Rate{}
			}(group)}
		},
	})
	for _, item := range []string{"limited/1", "limited/2", "rated/1", "rated/2"} {
		queue.Add(item)
	}
	take(t, queue)
	queue.Done(take(t, queue)) // of the group with a rate
	queue.Add("paused/1")
	queue.PauseGroup("paused", time.Time{})
	queue.PauseGroup("waiting", fake.Now().Add(time.Hour))
	fake.Step(100 * time.Millisecond)

	h := Handler(queue)
	rows := map[string]group{}
	for _, g := range getReport(t, h, "").Queues[0].Detail.Groups {
		rows[g.Group] = g
	}
	for name, want := range map[string]struct{ by, page, cells string }{
		"limited": {"limit", "by its limit", "limited 1 33 % 100 ms 1 limit – –"},
		"rated":   {"rate", "by its rate", "rated 1 33 % 100 ms 0 rate – 0.5"},
		"paused":  {"pause", "paused until it is resumed", "paused 1 33 % 100 ms 0 pause – –"},
		"waiting": {"pause", "paused for another 59 m 59 s", "waiting 0 0 % – 0 pause 59 m 59 s –"},
	} {
		require.Equal(t, want.by, rows[name].ThrottledBy, name)
		require.Equal(t, name != "waiting", rows[name].Throttled, name)
		require.Contains(t, get(t, h, "?group="+groupID(name)), "<dt>Throttled</dt><dd>"+want.page+"</dd>")
		row := newTable(table{}, groupColumns, []group{rows[name]}).Rows[0]
		var cells []string
		for _, c := range row.Cells[:8] {
			cells = append(cells, c.Text)
		}
		require.Equal(t, want.cells, strings.Join(cells, " "))
	}
	require.Contains(t, get(t, h, "?group="+groupID("rated")), "<dt>Rate</dt><dd>0.5 per second, bursts of 1</dd>")
}

// TestVerdictOfARate checks that a queue whose workers wait for its rate is
// throttled.
func TestVerdictOfARate(t *testing.T) {
	rate := stats.Rate{PerSecond: 250}
	g := newGauges(shardq.Stats{Ready: 3, Parked: 2, Rate: shardq.Rate(rate)}, false, time.Time{})
	require.Equal(t, "throttled", judge(queueReport{Gauges: g}).Name)
	require.Equal(t, "250", formatValue(asDecimal, g.RatePerSecond))
	g.RatePerSecond = nil
	require.Equal(t, "working", judge(queueReport{Gauges: g}).Name)
}
