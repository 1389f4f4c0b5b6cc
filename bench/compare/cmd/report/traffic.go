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

const closedText = `Producers add, consumers call Get and Done and return the key to the producers.
So every key is in one place, every Add is an item that goes all the way, and
the time is the cost of an item alone. Keys are returned in batches of 64
through a channel, the same for all engines. *channel* is a buffered channel
without deduplication or exclusion. *In batches* is claims in batches of 64. The
others have no batches, and go item by item. *Floor* takes the locks and misses
the lines that shardq does, and does nothing else (` + "`bench/floor`" + `).`

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

// load returns a load that lasts as long as the scale says, after its keys were
// all handed out once.
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

// rate makes a comparison for a curve. It makes fewer rounds, because the curve
// has many points. It converts nanoseconds for each item to millions of items a
// second.
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
	var times, deduplicated []outcome
	for _, w := range works {
		t, m := w.compare(r)
		times, deduplicated = append(times, t), append(deduplicated, m)
	}
	r.table("ns for each item that went all the way", times...)
	r.tableWithoutRatios("deduplicated adds for each item that went all the way", deduplicated...)
}

const openText = `Producers add as fast as the queue accepts items and never wait. Consumers call
Get and Done. An add of an item that is ready already is deduplicated. The time
is again for each item that went all the way, but here it depends as much on how
the Go scheduler shares the cores between producers and consumers as on the
queue: **with a queue that delays producers less, they use more of the cores for
deduplicated adds**, and the second table counts these. A lock for which all
goroutines queue slows producers down, which flatters its figure here. Read it
as the behavior under an overload, and the closed traffic as the cost of an
item. The streams are *uniform*; *zipf*, where the most frequent of 64k keys has
an eighth of all adds; and *hot*, a single key. There at most one consumer can
work, and a queue is best if the others do not disturb it. Controller-runtime's
queue is not in the table: it takes adds into a buffer without bounds, and
producers that never wait fill the memory.`

// openWork is a stream, the number of its keys, and the number of producers and
// of consumers.
type openWork struct {
	name    string
	stream  workload.Stream[string]
	keys    int
	workers int
}

// compare returns the times and the deduplicated adds.
func (w openWork) compare(r *report) (times, deduplicated outcome) {
	engines := measured[string]()
	if w.keys > 1 {
		engines = append(engines, compare.Channel[string](w.keys))
	}
	deduplicated = outcome{values: map[string][]float64{}}
	c := comparison{
		name:  fmt.Sprintf("Open/stream=%s/keys=%s/producers=%d/consumers=%d", w.name, suite.Count(w.keys), w.workers, w.workers),
		title: fmt.Sprintf("open, %s, %d × %d over %s keys", w.name, w.workers, w.workers, suite.Count(w.keys)),
		unit:  "ns/item",
		subjects: subjects(engines, w.keys, func(e workload.Engine[string]) float64 {
			traffic := workload.Open(e.New(), w.stream, r.load(w.workers, w.keys))
			name := engineName(e.Name, e.Shards)
			deduplicated.values[name] = append(deduplicated.values[name], traffic.DeduplicatedPerItem())
			return traffic.NanosecondsPerItem()
		}),
	}
	if w.name == "uniform" {
		c.floors = []floor{{subject: defaultShardq, note: "no aim: see [open traffic](#traffic-open) for the effect of deduplicated adds"}}
	}
	times = r.compare(c)
	deduplicated.comparison = c
	deduplicated.floors = nil
	return times, deduplicated
}
