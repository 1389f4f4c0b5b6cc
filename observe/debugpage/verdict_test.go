package debugpage

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// TestVerdicts checks each row of the decision table, and which of two counts.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, tone, text string
		q                queueReport
	}{
		{"idle", good, "idle", queueReport{}},
		{"idle", good, "idle", queueReport{Gauges: gauges{Delayed: 5, Held: 5, Parked: 2}}},
		{"keeping up", good, "keeping up: nothing is ready", queueReport{Gauges: gauges{Processing: 1}}},
		{"working", plain, "working: 20,000 ready", queueReport{Gauges: gauges{Ready: 20_000, Workers: 4, Processing: 4}}},
		{"working", plain, "working: 3 ready", queueReport{Gauges: gauges{Ready: 3, Parked: 1}}},
		{"no workers", bad, "no workers: 500 ready", queueReport{Gauges: gauges{Ready: 500}}},
		{"throttled", warn, "throttled: 9 ready, workers wait", queueReport{Gauges: gauges{Ready: 9, Throttled: 1, Parked: 2, Workers: 3, Processing: 1}}},
		{"working", plain, "working: 9 ready", queueReport{Gauges: gauges{Ready: 9, Throttled: 1, Workers: 3, Processing: 3}}},
		{"full", warn, "full: 50 of 50", queueReport{Gauges: gauges{Ready: 50, Held: 50, Capacity: 50}}},
		{"full", warn, "full: 60 of 50", queueReport{Gauges: gauges{Held: 2}, Values: &values{Weight: 60, Capacity: 50}}},
		{"idle", good, "idle", queueReport{Gauges: gauges{Held: 2}, Values: &values{Weight: 49, Capacity: 50}}},
		{"outage", bad, "outage: the last 12,687 attempts failed", queueReport{Gauges: gauges{OutageFailures: 12_687, Held: 50, Capacity: 50}}},
		{"paused", warn, "paused", queueReport{Gauges: gauges{OutageFailures: 5, Paused: true}}},
		{"paused", warn, "paused", queueReport{Gauges: gauges{Ready: 50, Held: 50, Capacity: 50, Paused: true}}},
		{"stuck", bad, "1 stuck, paused", queueReport{Gauges: gauges{Processing: 1, Stuck: 1, Paused: true}}},
		{"stuck", bad, "6 or more stuck", queueReport{State: shuttingDown, Gauges: gauges{Processing: 9, Stuck: 6, StuckAtLeast: true}}},
		{"shutting down", warn, "shutting down: 4 left", queueReport{State: shuttingDown, Gauges: gauges{Held: 4, Processing: 4}}},
		{"drained", plain, "drained", queueReport{State: drained}},
		{"unknown", bad, "unknown", queueReport{State: drained, Fault: "it panicked"}},
	} {
		require.Equal(t, verdict{c.name, c.tone, c.text}, judge(c.q))
	}
}

// TestOverviewShowsProblemsFirst checks the order of the rows, the number of
// stuck items, and the filter.
func TestOverviewShowsProblemsFirst(t *testing.T) {
	fake := newFake()
	idle := shardq.MustNew(shardq.Options[int]{Name: "idle mails"})
	alone := shardq.MustNew(shardq.Options[int]{Name: "Alone"})
	alone.Add(1)
	stuck := shardq.MustNew(shardq.Options[int]{Name: "mails", Ages: true, Clock: fake, StuckAfter: time.Minute, Shards: 1})
	stuck.Add(1)
	stuck.Add(2)
	take(t, stuck)
	take(t, stuck)
	fake.Step(time.Hour)
	h := Handler(idle, alone, stuck)
	texts := func(query string) (texts []string) {
		for _, r := range overviewTable(getReport(t, h, query).Queues).Rows {
			texts = append(texts, r.ID+": "+r.Cells[1].Text)
		}
		return texts
	}
	require.Equal(t, []string{"Alone: no workers: 1 ready", "mails: 2 stuck", "idle mails: idle"}, texts(""))
	require.Equal(t, []string{"mails: 2 stuck", "idle mails: idle"}, texts("&find=MAIL"))
	require.Equal(t, []string{"mails: 2 stuck"}, texts("&find=mail&problems=1"))
	require.Empty(t, texts("&find=other"))
	require.Equal(t, "2 stuck", getReport(t, h, "&queue=mails").Queues[0].Verdict.Text)
	require.Equal(t, "2 stuck", getReport(t, h, "&queue=mails&rows=2").Queues[0].Verdict.Text)
	require.Contains(t, get(t, h, "?queue=mails"), `data-tone="bad" href="#detail.processing">2 stuck<`)
}

// TestOverviewJudgesAllQueues checks that problems are shown wherever they are
// in a long list, and that the numbers of those left out are right.
func TestOverviewJudgesAllQueues(t *testing.T) {
	var queues []shardq.Inspector
	add := func(n, items int) {
		for range n {
			q := shardq.MustNew(shardq.Options[int]{Name: fmt.Sprintf("queue %04d", len(queues)), Shards: 1})
			for item := range items {
				q.Add(item)
			}
			queues = append(queues, q)
		}
	}
	add(1500, 0)
	add(3, 1)
	h := Handler(queues...)
	r := getReport(t, h, "")
	require.Len(t, r.Queues, maxQueues)
	require.Equal(t, []string{"queue 0000", "queue 0996", "queue 1500", "queue 1502"}, []string{r.Queues[0].ID, r.Queues[996].ID, r.Queues[997].ID, r.Queues[999].ID})
	require.Equal(t, [2]int{503, 0}, [2]int{r.NotShown, r.ProblemsNotShown})
	require.Contains(t, get(t, h, "?format=text"), "\nand 503 more, none of them with a problem\n")
	r = getReport(t, h, "&problems=1")
	require.Len(t, r.Queues, 3)
	require.Zero(t, r.NotShown)
	require.Contains(t, get(t, h, "?problems=1"), `data-beyond hidden`)

	add(1200, 1)
	h = Handler(queues...)
	r = getReport(t, h, "")
	require.Equal(t, "queue 1500", r.Queues[0].ID)
	require.Equal(t, [2]int{1703, 203}, [2]int{r.NotShown, r.ProblemsNotShown})
	require.Contains(t, get(t, h, "?format=text"), "\nand 1,703 more, 203 of them with a problem\n")
	r = getReport(t, h, "&problems=1")
	require.Len(t, r.Queues, maxQueues)
	require.Equal(t, [2]int{203, 203}, [2]int{r.NotShown, r.ProblemsNotShown})
	require.Contains(t, get(t, h, "?problems=1"), `There are <span data-total="problemsNotShown">203</span> more with a problem.`)
}
