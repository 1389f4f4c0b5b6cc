//go:build countwrites

package sharedwrites_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/sharedwrites"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/internal/shared"
)

var update = flag.Bool("update", false, "write counts.json")

// These are the default numbers of shards with 2 to 8 processors, and with 32.
const (
	defaultShards = 32
	manyShards    = 128
)

// A way says how items are added, taken and ended.
type way struct {
	name string
	add  func(q *shardq.Queue[string], items []string)
	// turn takes n items, ends them, and returns the last of them.
	turn func(q *shardq.Queue[string], n int) []string
	// steady is closed traffic between goroutines.
	steady func(shards int, keys []string, load workload.Load) workload.Traffic
	// atOnce is the number of items that a near-empty queue gets at once.
	atOnce int
}

func ways() []way {
	one := func(e func(int) workload.Engine[string]) func(int, []string, workload.Load) workload.Traffic {
		return func(shards int, keys []string, load workload.Load) workload.Traffic {
			return workload.Closed(e(shards).New(), keys, load)
		}
	}
	batches := func(shards int, keys []string, load workload.Load) workload.Traffic {
		q := engine.Claims[string](shards).New().(workload.BatchQueue[string])
		return workload.Batches(q, keys, load)
	}
	addEach := func(q *shardq.Queue[string], items []string) { workload.AddAll(q, items) }
	return []way{
		{sharedwrites.GetDone, addEach, getEach, one(engine.Shardq[string]), 1},
		{sharedwrites.Claims, addEach, claimEach, one(engine.Claims[string]), 1},
		{sharedwrites.Batches, (*shardq.Queue[string]).AddBatch, claimBatch, batches, 64},
	}
}

func getEach(q *shardq.Queue[string], n int) (items []string) {
	for range n {
		item, _ := q.Get()
		q.Done(item)
		items = append(items, item)
	}
	return items
}

func claimEach(q *shardq.Queue[string], n int) (items []string) {
	for range n {
		item, _ := engine.WithClaims[string]{Queue: q}.Turn()
		items = append(items, item)
	}
	return items
}

func claimBatch(q *shardq.Queue[string], n int) []string {
	items := make([]string, n)
	turn := engine.WithClaims[string]{Queue: q}.Batches()
	for left := items; len(left) > 0; {
		taken, err := turn(context.Background(), left)
		if err != nil {
			break // the queue is shut down
		}
		left = left[taken:]
	}
	return items
}

// traffics are the kinds of traffic in which the queue is counted. One
// goroutine makes them, so that nothing depends on the scheduler, except the
// steady one, which [steady] counts.
var traffics = []struct {
	name string
	run  func(w way, q *shardq.Queue[string], keys []string) (items int)
}{
	{sharedwrites.Full, full},
	{sharedwrites.NearEmpty, nearEmpty},
	{sharedwrites.Bursty, bursty},
	{sharedwrites.Sleeping, sleeping},
}

// full keeps every key in the queue, except those that are taken and added
// again.
func full(w way, q *shardq.Queue[string], keys []string) (items int) {
	q.AddBatch(keys)
	shared.Reset()
	for ; items < len(keys); items += w.atOnce {
		w.add(q, w.turn(q, w.atOnce))
	}
	return items
}

// nearEmpty takes each item, or each batch, as soon as it is ready.
func nearEmpty(w way, q *shardq.Queue[string], keys []string) (items int) {
	shared.Reset()
	for ; items+w.atOnce <= len(keys); items += w.atOnce {
		w.add(q, keys[items:items+w.atOnce])
		w.turn(q, w.atOnce)
	}
	return items
}

// bursty adds 256 items, and then takes all of them.
func bursty(w way, q *shardq.Queue[string], keys []string) (items int) {
	const burst = 256
	shared.Reset()
	for ; items+burst <= len(keys); items += burst {
		w.add(q, keys[items:items+burst])
		w.turn(q, burst)
	}
	return items
}

// sleeping has each item, or each batch, wake a parked consumer.
func sleeping(w way, q *shardq.Queue[string], keys []string) (items int) {
	go func() {
		for !q.ShuttingDown() {
			w.turn(q, w.atOnce)
		}
	}()
	synctest.Wait()
	shared.Reset()
	for ; items+w.atOnce <= len(keys); items += w.atOnce {
		w.add(q, keys[items:items+w.atOnce])
		synctest.Wait()
	}
	return items
}

// steady is closed traffic between 8 producers and 8 consumers, over a queue
// that is never empty. The scheduler affects its count.
func steady(w way, shards int, keys []string) sharedwrites.Count {
	traffic := w.steady(shards, keys, workload.Load{
		Producers: 8, Consumers: 8, Warmup: len(keys), Items: 4 * len(keys), Warm: shared.Reset,
	})
	return counted(sharedwrites.Steady, w, shards, traffic.Completed)
}

// counted returns what was counted since Reset.
func counted(traffic string, w way, shards, items int) sharedwrites.Count {
	c := sharedwrites.Count{Traffic: traffic, Way: w.name, Shards: shards, Kinds: map[string]float64{}}
	lines := shared.Lines()
	byLine := map[uintptr]float64{}
	for _, line := range lines {
		writes := float64(line.Writes) / float64(items)
		switch {
		case line.Name == "lock of a shard":
			c.Locks += writes / 2 // acquiring and releasing it
			continue
		case line.Scope == shared.One:
			continue
		case line.Scope == shared.Lane:
			c.Lane += writes
		case line.Scope == shared.Some && linesOf(line.Name, lines) > 1:
			c.Some += writes
		default:
			c.All += writes
		}
		byLine[line.Address] += writes
		c.Kinds[line.Name] += writes
	}
	for _, writes := range byLine {
		c.Hottest = max(c.Hottest, writes)
	}
	return rounded(c)
}

// linesOf returns the number of lines of a kind that are counted. If it is one,
// all shards share it, whatever the kind is.
func linesOf(name string, lines []shared.Line) (n int) {
	for _, line := range lines {
		if line.Name == name {
			n++
		}
	}
	return n
}

func rounded(c sharedwrites.Count) sharedwrites.Count {
	round := func(x float64) float64 { return math.Round(x*1000) / 1000 }
	c.All, c.Some, c.Lane, c.Hottest, c.Locks = round(c.All), round(c.Some), round(c.Lane), round(c.Hottest), round(c.Locks)
	for kind, writes := range c.Kinds {
		if c.Kinds[kind] = round(writes); c.Kinds[kind] == 0 {
			delete(c.Kinds, kind)
		}
	}
	return c
}

// features are options that make the queue keep more beside its items, some of
// it in words that all shards share.
var features = []struct {
	name    string
	options shardq.Options[string]
}{
	{"Capacity", shardq.Options[string]{Capacity: 1 << 20}},
	{"Ages", shardq.Options[string]{Ages: true}},
	{"Metrics", shardq.Options[string]{Metrics: true}},
	{"Group and GroupLimit", shardq.Options[string]{
		Group: func(item string) string { return item[:14] }, GroupLimit: 1 << 10,
	}},
	{"priorities", shardq.Options[string]{}},
}

// countFeatures counts a near-empty queue with each of the features.
func countFeatures(t *testing.T, keys []string) (counts []sharedwrites.Count) {
	w := ways()[0]
	for _, feature := range features {
		if feature.name == "priorities" {
			w.add = addUrgently
		}
		synctest.Test(t, func(*testing.T) {
			feature.options.Shards = defaultShards
			q := shardq.MustNew(feature.options)
			defer q.ShutDown()
			items := nearEmpty(w, q, keys)
			c := counted(sharedwrites.NearEmpty, w, defaultShards, items)
			c.Feature = feature.name
			counts = append(counts, c)
		})
	}
	return counts
}

func addUrgently(q *shardq.Queue[string], items []string) {
	for _, item := range items {
		q.AddWith(item, shardq.AddOptions{Priority: int(item[len(item)-1] % 4)})
	}
}

func countAll(t *testing.T) (counts []sharedwrites.Count) {
	keys := workload.Strings(1 << 14)
	for _, shards := range []int{defaultShards, manyShards} {
		for _, traffic := range traffics {
			for _, w := range ways() {
				synctest.Test(t, func(*testing.T) {
					q := shardq.MustNew(shardq.Options[string]{Shards: shards})
					defer q.ShutDown()
					items := traffic.run(w, q, keys)
					counts = append(counts, counted(traffic.name, w, shards, items))
				})
			}
		}
		for _, w := range ways() {
			counts = append(counts, steady(w, shards, workload.Shuffled(workload.Strings(1<<16))))
		}
	}
	return append(counts, countFeatures(t, keys)...)
}

func nameOf(c sharedwrites.Count) string {
	return fmt.Sprintf("%s, %s, %d shards, %s", c.Traffic, c.Way, c.Shards, c.Feature)
}

// meetsGoals compares a count with the goals. No item writes what all shards
// share, except to wake a consumer. No other line is written more than once for
// an item, however empty the queue is. A feature may cost more, and
// docs/reference/cores.md gives its cost.
func meetsGoals(t *testing.T, c sharedwrites.Count) {
	none, name := 0.001, nameOf(c)
	if c.Traffic == sharedwrites.Steady {
		none = 0.1 // sometimes the scheduler lets consumers empty a shard, or all
	}
	switch {
	case c.Feature != "":
		return
	case c.Traffic == sharedwrites.Sleeping: // a wake-up is 8 writes, for one item or for 64
		assert.LessOrEqual(t, c.All, 8/float64(atOnce(c)), name)
	default:
		const uneven = 0.05 // how unevenly items are spread over words
		assert.LessOrEqual(t, c.All, none, name)
		assert.LessOrEqual(t, c.Hottest, 1+uneven, name)
	}
	assert.LessOrEqual(t, c.Kinds["ready bits"], 2+none, "%s: once each way", name)
	if c.Traffic == sharedwrites.Full || c.Traffic == sharedwrites.Steady {
		assert.LessOrEqual(t, c.Kinds["ready bits"], none, name)
	}
}

func atOnce(c sharedwrites.Count) int {
	for _, w := range ways() {
		if w.name == c.Way {
			return w.atOnce
		}
	}
	panic("no such way")
}

// TestWritesByTraffic compares counts.json, from which docs/reference/cores.md
// is made, with new counts, and those with the goals.
func TestWritesByTraffic(t *testing.T) {
	counts := countAll(t)
	for _, c := range counts {
		t.Logf("%+v", c)
		meetsGoals(t, c)
	}
	if *update {
		text, err := json.MarshalIndent(counts, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("counts.json", append(text, '\n'), 0o644))
		return
	}
	known := sharedwrites.Counts()
	require.Len(t, known, len(counts))
	for i, c := range counts {
		name := nameOf(c)
		require.Equal(t, nameOf(known[i]), name)
		assert.InDelta(t, known[i].All, c.All, tolerance(c), "%s: run with -update, and cores again", name)
		assert.InDelta(t, known[i].Some, c.Some, tolerance(c), name)
		if c.Traffic != sharedwrites.Steady { // a shard that became empty meanwhile is locked in vain
			assert.InDelta(t, known[i].Locks, c.Locks, tolerance(c), name)
		}
	}
}

// tolerance allows for how the items of a batch are spread, and in steady
// traffic for the scheduler.
func tolerance(c sharedwrites.Count) float64 {
	if c.Traffic == sharedwrites.Steady {
		return 0.2
	}
	return 0.1
}
