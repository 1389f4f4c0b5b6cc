package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func closedTraffic(r *report) {
	r.section("Traffic, closed", closedText)
	var outcomes []outcome
	for _, n := range r.scale.trafficKeys {
		keys := workload.Shuffled(workload.Strings(n))
		for _, workers := range []int{1, 8, 64} {
			outcomes = append(outcomes, r.compare(closed(r, keys, workers)))
			if workers == 8 {
				outcomes = append(outcomes, r.compare(batches(r, keys, workers)))
			}
		}
	}
	r.table("ns for each item that went all the way", outcomes...)
	againstProducers(r)
	againstShards(r)
}

const closedText = `Producers add, consumers get, say done, and hand the key back to the producers, so that every key is in one
place and every Add is paid for by an item that goes all the way: the time is the cost of an item and of nothing else.
Handing back is a batch of 64 through a channel, the same for all. *channel* is a buffered channel without deduplication
or exclusion. *In batches* stands for claims in batches of 64, beside the others item by item: they have no batches.
*Floor* takes the locks and misses the lines that shardq does, and does nothing else (` + "`bench/floor`" + `).`

// inBatches is the subject that takes claims by 64, and floorBatches its floor.
const (
	inBatches    = "in batches"
	floorBatches = "floor, in batches"
)

// batches compares closed traffic by batches with that of others item by item.
func batches(r *report, keys []string, workers int) comparison {
	c := closed(r, keys, workers)
	c.name += "/batch=64"
	c.title += ", in batches of 64"
	byBatches := subjects([]workload.Engine[string]{engine.Claims[string](engine.DefaultShards()), floors[string](len(keys))[1]}, len(keys),
		func(e workload.Engine[string]) float64 {
			return workload.Batches(e.New().(workload.BatchQueue[string]), keys, r.load(workers, len(keys))).NanosecondsPerItem()
		})
	byBatches[0].name, byBatches[1].name = inBatches, floorBatches
	others := slices.DeleteFunc(c.subjects, func(s subject) bool { return s.name != peer && s.name != channel })
	c.subjects, c.floors = append(byBatches, others...), nil
	if workers == 8 && len(keys) == 1<<16 {
		c.floors = []floor{
			{subject: inBatches, atLeast: 10, bench: floorBatches},
			{subject: inBatches, atLeast: 1, than: channel, bench: floorBatches},
		}
	}
	return c
}

const channel = "channel"

func closed(r *report, keys []string, workers int) comparison {
	engines := append(withClaims[string](), compare.ControllerRuntime[string](), compare.Channel[string](len(keys)))
	engines = append(engines, floors[string](len(keys))...)
	c := comparison{
		name:  fmt.Sprintf("Closed/keys=%s/producers=%d/consumers=%d", suite.Count(len(keys)), workers, workers),
		title: fmt.Sprintf("closed, %d × %d over %s keys", workers, workers, suite.Count(len(keys))),
		unit:  "ns/item",
		subjects: subjects(engines, len(keys), func(e workload.Engine[string]) float64 {
			return workload.Closed(e.New(), keys, r.load(workers, len(keys))).NanosecondsPerItem()
		}),
	}
	c.floors = trafficFloors(workers, len(keys))
	return c
}

func trafficFloors(workers, keys int) []floor {
	switch {
	case workers == 8 && keys == 1<<16:
		return closedFloors(6.5)
	case workers == 64 && keys == 1_000_000:
		return closedFloors(6)
	}
	return nil
}

func closedFloors(atLeast float64) []floor {
	return []floor{
		{subject: defaultShardq, atLeast: atLeast, bench: theFloor},
		{subject: defaultClaims, atLeast: 8, bench: floorClaims},
	}
}

// load is a load that lasts as long as the scale says, after its keys have gone
// round once.
func (r *report) load(workers, warmup int) workload.Load {
	const endless = math.MaxInt / 8
	return workload.Load{
		Producers: workers,
		Consumers: workers,
		Warmup:    warmup,
		Items:     endless,
		Limit:     r.scale.trafficTime,
	}
}

func againstProducers(r *report) {
	keys := workload.Shuffled(workload.Strings(r.scale.trafficKeys[0]))
	lines := newCurves()
	for workers := 1; workers <= 64; workers *= 2 {
		lines.add(float64(workers), r.rate(closed(r, keys, workers)))
	}
	r.plot("producers.svg", "Throughput against producers", figureAxes{
		X: "producers, and as many consumers", Y: "million items per second",
	}, lines)
}

func againstShards(r *report) {
	keys := workload.Shuffled(workload.Strings(r.scale.trafficKeys[0]))
	lines := newCurves()
	for shards := 1; shards <= 64; shards *= 2 {
		c := closed(r, keys, 8)
		e := engine.Shardq[string](shards)
		c.subjects = subjects([]workload.Engine[string]{e, compare.ClientGo[string]()}, len(keys),
			func(e workload.Engine[string]) float64 {
				return workload.Closed(e.New(), keys, r.load(8, len(keys))).NanosecondsPerItem()
			})
		c.subjects[0].name = "shardq"
		lines.add(float64(shards), r.rate(c))
	}
	r.plot("shards.svg", "Throughput against shards, 8 producers and 8 consumers", figureAxes{
		X: "shards", Y: "million items per second",
	}, lines)
}

// rate does a comparison for a curve, in fewer rounds because the curve has many
// points, and turns its nanoseconds for each item into millions of items a second.
func (r *report) rate(c comparison) outcome {
	o := inRounds(c, min(r.scale.rounds, 3))
	for _, values := range o.values {
		for i, nanoseconds := range values {
			values[i] = 1000 / nanoseconds
		}
	}
	return o
}

func openTraffic(r *report) {
	r.section("Traffic, open", openText)
	few := workload.Strings(r.scale.trafficKeys[0])
	many := workload.Strings(r.scale.trafficKeys[len(r.scale.trafficKeys)-1])
	works := []openWork{
		{"uniform", workload.Uniform(few), len(few), 8},
		{"uniform", workload.Uniform(many), len(many), 64},
		{"zipf", workload.Zipf(few), len(few), 8},
		{"hot", workload.HotKey(few), 1, 1},
		{"hot", workload.HotKey(few), 1, 8},
	}
	var times, merged []outcome
	for _, w := range works {
		t, m := w.compare(r)
		times, merged = append(times, t), append(merged, m)
	}
	r.table("ns for each item that went all the way", times...)
	r.tableWithoutRatios("merged adds for each item that went all the way", merged...)
}

const openText = `Producers add as fast as the queue takes it and never wait; consumers get and say done. What they cannot keep up with
is merged into what is ready already. The time is again for each item that went all the way, but here it depends as much on how
the Go scheduler shares the cores between producers and consumers as on the queue: **a queue that lets producers through faster lets
them burn more of the cores on adds that are merged**, and the second table tells how many. A lock that everybody queues up for
holds producers back, which flatters its figure here. Read it as what happens under an overload, and the closed traffic for what an
item costs. Streams: *uniform*; *zipf*, where the most frequent of 64k keys has an eighth of all adds; *hot*, a single key, where at
most one consumer can be at work and a queue does best by not letting the others disturb it. Controller-runtime's queue is not in the table:
it takes adds into a buffer without bounds, and producers who never wait fill the memory.`

// openWork is a stream, the number of its keys, and how many producers and
// consumers share it.
type openWork struct {
	name    string
	stream  workload.Stream[string]
	keys    int
	workers int
}

// compare returns the times and the merged adds.
func (w openWork) compare(r *report) (times, merged outcome) {
	engines := measured[string]()
	if w.keys > 1 {
		engines = append(engines, compare.Channel[string](w.keys))
	}
	merged = outcome{values: map[string][]float64{}}
	c := comparison{
		name:  fmt.Sprintf("Open/stream=%s/keys=%s/producers=%d/consumers=%d", w.name, suite.Count(w.keys), w.workers, w.workers),
		title: fmt.Sprintf("open, %s, %d × %d over %s keys", w.name, w.workers, w.workers, suite.Count(w.keys)),
		unit:  "ns/item",
		subjects: subjects(engines, w.keys, func(e workload.Engine[string]) float64 {
			traffic := workload.Open(e.New(), w.stream, r.load(w.workers, w.keys))
			name := engineName(e.Name, e.Shards)
			merged.values[name] = append(merged.values[name], traffic.MergedPerItem())
			return traffic.NanosecondsPerItem()
		}),
	}
	if w.name == "uniform" {
		c.floors = []floor{{subject: defaultShardq, note: "no aim: see [open traffic](#traffic-open) for what merged adds do to it"}}
	}
	times = r.compare(c)
	merged.comparison = c
	merged.floors = nil
	return times, merged
}
