package main

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	benchfloor "github.com/shardq/shardq/bench/floor"
	"github.com/shardq/shardq/bench/workload"
)

// parseCPUs parses a comma-separated list of numbers of processors. It returns
// none for an empty one.
func parseCPUs(list string) (cpus []int, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("-cpu: %q is not a number of processors", text)
		}
		if n < 1 {
			return nil, fmt.Errorf("-cpu: %d is below 1: want numbers of processors, such as 1,2,4", n)
		}
		cpus = append(cpus, n)
	}
	return cpus, nil
}

// beyond returns a note about the numbers that the machine does not have, or
// "".
func beyond(cpus []int, has int) string {
	var more []string
	for _, n := range cpus {
		if n > has {
			more = append(more, strconv.Itoa(n))
		}
	}
	if more == nil {
		return ""
	}
	return fmt.Sprintf("This machine has %d processors. With %s, goroutines share them: that shows no more than that nothing breaks.",
		has, strings.Join(more, ", "))
}

// cores measures throughput against the number of processors that Go may use.
func cores(r *report) {
	text := coresText
	if note := beyond(r.cpus, runtime.NumCPU()); note != "" {
		text += " **" + note + "**"
	}
	r.section("Throughput against cores", text)
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	items, byBatches := newCurves(), newCurves()
	var itemOutcomes, batchOutcomes []outcome
	for _, n := range r.cpus {
		runtime.GOMAXPROCS(n)
		traffic := newPerProcessor(r, n)
		i, b := r.rate(traffic.byItem(r)), r.rate(traffic.byBatch(r))
		items.add(float64(n), i)
		byBatches.add(float64(n), b)
		itemOutcomes, batchOutcomes = append(itemOutcomes, i), append(batchOutcomes, b)
	}
	r.tableWithoutRatios("million items per second, one by one", itemOutcomes...)
	r.tableWithoutRatios("million items per second, in batches of 64", batchOutcomes...)
	axes := figureAxes{X: "processors", Y: "million items per second"}
	r.plot("cores.svg", "Throughput against cores", axes, items)
	r.plot("cores-batches.svg", "Throughput against cores, in batches of 64", axes, byBatches)
}

const coresText = `Closed traffic with four producers and four consumers for each processor that
Go may use (GOMAXPROCS). More is better. The number of shards is the default for
that number of processors. Controller-runtime's queue is measured up to 100k
keys.`

// perProcessor is the traffic for a number of processors.
type perProcessor struct {
	processors, workers int
	keys                []string
}

// newPerProcessor makes enough keys for all workers, each of which keeps up to
// 64 of them.
func newPerProcessor(r *report, processors int) perProcessor {
	const each, kept = 4, 4 * 64
	workers := each * processors
	return perProcessor{processors, workers, workload.Shuffled(workload.Strings(max(r.scale.trafficKeys[0], 2*workers*kept)))}
}

func (c perProcessor) comparison(how string, subjects []subject) comparison {
	return comparison{
		name:     fmt.Sprintf("Cores/cpu=%d/%s", c.processors, how),
		title:    fmt.Sprintf("GOMAXPROCS %d, %d × %d", c.processors, c.workers, c.workers),
		unit:     "ns/item",
		subjects: subjects,
	}
}

func (c perProcessor) byItem(r *report) comparison {
	shards := engine.DefaultShards()
	engines := []workload.Engine[string]{
		engine.Shardq[string](shards), engine.Claims[string](shards), engine.HeapQueue[string](),
		compare.ClientGo[string](), compare.ControllerRuntime[string](), compare.Channel[string](len(c.keys)),
		benchfloor.Engine[string](shards, len(c.keys)),
	}
	all := subjects(engines, len(c.keys), func(e workload.Engine[string]) float64 {
		return workload.Closed(e.New(), c.keys, r.load(c.workers, len(c.keys))).NanosecondsPerItem()
	})
	all[0].name, all[1].name = "shardq", "claims" // with any number of shards
	return c.comparison("batch=1", all)
}

func (c perProcessor) byBatch(r *report) comparison {
	shards := engine.DefaultShards()
	engines := []workload.Engine[string]{
		engine.Shardq[string](shards), engine.Claims[string](shards), benchfloor.Claims[string](shards, len(c.keys)),
	}
	all := subjects(engines, len(c.keys), func(e workload.Engine[string]) float64 {
		return workload.Batches(e.New().(workload.BatchQueue[string]), c.keys, r.load(c.workers, len(c.keys))).NanosecondsPerItem()
	})
	all[0].name, all[1].name = "shardq", "claims"
	return c.comparison("batch=64", all)
}
