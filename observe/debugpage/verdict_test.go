package debugpage

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

func TestVerdicts(t *testing.T) {
	type s = shardq.Stats
	for _, c := range []struct {
		name, tone, text string
		r                reading
	}{
		{"idle", good, "idle", reading{}},
		{"idle", good, "idle", reading{stats: s{Delayed: 5, Held: 5, Parked: 2}}},
		{"keeping up", good, "keeping up: nothing is ready", reading{stats: s{Processing: 1}}},
		{"working", plain, "working: 20,000 ready", reading{stats: s{Ready: 20_000, Workers: 4, Processing: 4}}},
		{"working", plain, "working: 3 ready", reading{stats: s{Ready: 3, Parked: 1}}},
		{"no workers", bad, "no workers: 500 ready", reading{stats: s{Ready: 500}}},
		{"throttled", warn, "throttled: 9 ready, workers wait", reading{stats: s{Ready: 9, Throttled: 1, Parked: 2, Workers: 3, Processing: 1}}},
		{"throttled", warn, "throttled: 3 ready, workers wait", reading{stats: s{Ready: 3, Parked: 2, Rate: shardq.Rate{PerSecond: 250}}}},
		{"working", plain, "working: 9 ready", reading{stats: s{Ready: 9, Throttled: 1, Workers: 3, Processing: 3}}},
		{"full", warn, "full: 50 of 50", reading{stats: s{Ready: 50, Held: 50, Capacity: 50}}},
		{"full", warn, "full: 9,990 of 10,000", reading{stats: s{Held: 9990, Capacity: 10_000}}},
		{"failing", warn, "failing: 60 % of attempts", reading{stats: s{Ready: 1, Workers: 1}, course: course{{}, {attempts: 10, failed: 6}}}},
		{"failing", warn, "failing: 60 % of attempts, 7 dead letters, +6.0/s", reading{stats: s{Discarded: 7}, course: course{{}, {attempts: 10, failed: 6, discarded: 6}}}},
		{"discarding", warn, "discarding: 1 dead letter, +1.0/s", reading{stats: s{Discarded: 1, Processing: 1}, course: course{{}, {discarded: 1}}}},
		{"keeping up", good, "keeping up: nothing is ready", reading{stats: s{Discarded: 1, Processing: 1}, course: course{{discarded: 1}, {discarded: 1}}}},
		{"throttled", warn, "a is paused: 9 wait", reading{stats: s{Ready: 90, Throttled: 1, Workers: 3}, waits: waits{"a is paused: 9 wait", 9, 9}}},
		{"throttled", warn, "a is full", reading{stats: s{Ready: 90, Throttled: 1, Workers: 3}, waits: waits{"a is full", 45, 0}}},
		{"working", plain, "working: 90 ready", reading{stats: s{Ready: 90, Throttled: 1, Workers: 3}, waits: waits{"a is full", 44, 0}}},
		{"failing", warn, "failing: 60 % came back with a backoff", reading{course: course{{}, {attempts: 10, failed: 6, ownLoop: true}}}},
		{"idle", good, "idle", reading{course: course{{attempts: 9, failed: 9, ownLoop: true}, {attempts: 20}}}},
		{"idle", good, "idle", reading{course: course{{}, {attempts: 9, failed: 9}}}},
		{"idle", good, "idle", reading{course: course{{attempts: 90, failed: 90}, {attempts: 120, failed: 104}}}},
		{"full", warn, "full: 60 of 50", reading{stats: s{Held: 2, Values: &stats.Values{Weight: 60, Capacity: 50}}}},
		{"idle", good, "idle", reading{stats: s{Held: 2, Values: &stats.Values{Weight: 49, Capacity: 50}}}},
		{"outage", bad, "outage: the last 12,687 attempts failed", reading{stats: s{OutageFailures: 12_687, Held: 50, Capacity: 50}}},
		{"idle", good, "idle", reading{stats: s{OutageFailures: 5}}}, // all were discarded
		{"paused", warn, "paused since 00:00:00", reading{stats: s{OutageFailures: 5, Held: 1, Paused: true}}},
		{"paused", warn, "paused since 00:00:00: 50 wait", reading{stats: s{Ready: 50, Held: 50, Capacity: 50, Paused: true}}},
		{"stuck", bad, "1 stuck, paused", reading{stats: s{Processing: 1, Paused: true}, stuck: 1}},
		{"stuck", bad, "6 or more stuck", reading{stats: s{Processing: 9, Held: 9, ShuttingDown: true}, stuck: 6, stuckAtLeast: true}},
		{"shutting down", warn, "shutting down: 4 left", reading{stats: s{Held: 4, Processing: 4, ShuttingDown: true}}},
		{"drained", plain, "drained", reading{stats: s{ShuttingDown: true}}},
		{"unknown", bad, "unknown", reading{fault: "it panicked"}},
	} {
		if c.r.course == nil { // at the first reading
			c.r.course = course{newSample(&c.r.stats, false)}
		}
		for i := range c.r.course {
			c.r.course[:i+1].settle()
		}
		require.Equal(t, verdict{Name: c.name, Tone: c.tone, Text: c.text}, c.r.verdict())
	}
}

// TestOverview checks the order of the rows, the filter, that problems are
// shown wherever they are in a long list, and the numbers of those left out.
func TestOverview(t *testing.T) {
	var queues []shardq.Inspector
	add := func(n int, name string, items ...string) {
		for range n {
			q := newQueue(fmt.Sprintf("%s %04d", name, len(queues)))
			q.AddBatch(items, shardq.AddOptions{})
			queues = append(queues, q)
		}
	}
	add(1500, "idle")
	add(3, "Alone", "item")
	text := get(t, Handler(queues[1498:]...), "?format=text")
	require.Regexp(t, `(?s)Alone 1500 +no workers: 1 ready .*Alone 1502 .*idle 1498 +idle`, text)
	h := Handler(queues...)
	r := getReport(t, h, "")
	require.Len(t, r.Queues, maxQueues)
	require.Equal(t, []string{"idle 0000", "idle 0996", "Alone 1500", "Alone 1502"}, []string{r.Queues[0].ID, r.Queues[996].ID, r.Queues[997].ID, r.Queues[999].ID})
	require.Contains(t, get(t, h, "?format=text"), "\nand 503 more, none of them with a problem\n")
	require.Len(t, getReport(t, h, "&find=aLONE").Queues, 3)
	require.Len(t, getReport(t, h, "&find=1501&problems=1").Queues, 1)
	require.Empty(t, getReport(t, h, "&find=other").Queues)
	r = getReport(t, h, "&problems=1")
	require.Len(t, r.Queues, 3)
	require.Contains(t, get(t, h, "?problems=1"), `data-beyond hidden`)

	add(1200, "Alone", "item")
	h = Handler(queues...)
	r = getReport(t, h, "")
	require.Equal(t, "Alone 1500", r.Queues[0].ID)
	require.Equal(t, [2]int{1703, 203}, [2]int{r.NotShown, r.ProblemsNotShown})
	require.Contains(t, get(t, h, "?format=text"), "\nand 1,703 more, 203 of them with a problem\n")
	require.Contains(t, get(t, h, "?problems=1"), `There are <span data-total="problemsNotShown">203</span> more with a problem.`)
}

// TestWhyGroupsAreThrottled checks the rows of groups that are throttled by
// each reason, and of one that is paused with nothing ready.
func TestWhyGroupsAreThrottled(t *testing.T) {
	fake := newFake()
	queue := shardq.MustNew(shardq.Options[string]{
		Name: "mails", Shards: 1, Clock: fake, Ages: true,
		Group: func(item string) string { tenant, _, _ := strings.Cut(item, "/"); return tenant },
		GroupPolicy: func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Limit: 1, Rate: func(group string) (rate shardq.Rate) {
				if group == "rated" {
					rate.PerSecond = 0.5
				}
				return rate
			}(group)}
		},
	})
	queue.AddBatch([]string{"limited/1", "limited/2", "rated/1", "rated/2"}, shardq.AddOptions{})
	take(t, queue)
	queue.Done(take(t, queue)) // of the group with a rate
	queue.Add("paused/1")
	queue.PauseGroup("paused", time.Time{})
	queue.PauseGroup("waiting", fake.Now().Add(time.Hour))
	fake.Step(100 * time.Millisecond)
	require.EqualValues(t, 1, getQueue(t, Handler(queue), "&group="+groupID("rated")).Found.Group["burst"])
	text := get(t, Handler(queue), "?format=text")
	require.Contains(t, text, "mails: running, limited is at its limit of 1: 1 waits")
	for i := range 12 {
		queue.Add(fmt.Sprint("free/", i)) // as between a Done and the next Get
	}
	rd := (&handler{}).reader(named{queue: queue}, 1)
	rd.options.Groups = true
	require.Equal(t, waits{"free is at its limit of 1: 12 wait", 12, 1}, rd.waits(&shardq.Stats{Parked: 1, Ready: 12}))
	require.Zero(t, rd.waits(&shardq.Stats{Ready: 12}))
	queue.PauseGroup("limited", fake.Now().Add(6*time.Minute))
	require.Contains(t, get(t, Handler(queue), "?format=text"), "mails: running, limited is paused for 6 m: 1 waits")
	for _, row := range []string{
		`limited +1 +33 % +100 ms +1 +limit +– +– `, `rated +1 +33 % +100 ms +0 +rate +– +0.5 `,
		`paused +1 +33 % +100 ms +0 +pause +– +– `, `waiting +0 +0 % +– +0 +pause +59 m 59 s +– `,
	} {
		require.Regexp(t, row, text)
	}
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "–", 1: "1 ns", 999: "999 ns", 1500: "1.5 µs", 9999: "9.9 µs", 10_000: "10 µs", 1200 * time.Microsecond: "1.2 ms",
		999_999_999: "999 ms", time.Second: "1.0 s", 59_999 * time.Millisecond: "59 s", 185 * time.Second: "3 m 05 s",
		time.Hour - 1: "59 m 59 s", 2*time.Hour + 5*time.Minute: "2 h 05 m", 75 * time.Hour: "3 d 03 h",
		math.MaxInt64: "106,751 d 23 h", -time.Millisecond: "-1.0 ms", math.MinInt64: "-106,751 d 23 h",
	} {
		require.Equal(t, want, formatDuration(d))
		require.Equal(t, want, formatDuration(inSeconds(d).duration()), "also if it is rounded up as seconds")
	}
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -999: "-999", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		require.Equal(t, want, formatCount(n))
	}
	for n, want := range map[uint64]string{7: "7", 999: "999", 1000: "1.0k", 9_999: "9.9k", 12_345: "12k", 1_200_000: "1.2M", 34_000_000_000: "34G"} {
		require.Equal(t, want, formatShort(n))
	}
	for share, want := range map[float64]string{0: "0 %", 0.0001: "< 0.1 %", 0.014: "1.4 %", 0.5: "50 %", 1: "100 %"} {
		require.Equal(t, want, formatShare(share))
	}
	for n, want := range map[uint64]string{
		9_999_999: "9,999,999", 10_000_000: "10 M", 999_999_999: "999 M", 1_000_000_000: "1.0 G", 9_990_000_000: "9.9 G",
		1 << 40: "1.0 T", 1<<64 - 1: "18 E",
	} {
		require.Equal(t, want, formatBrief(n))
	}
}
