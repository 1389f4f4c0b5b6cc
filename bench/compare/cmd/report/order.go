package main

import (
	"fmt"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func order(r *report) {
	t := table{
		Caption: "items passed over by a Get, and times an item was skipped",
		Header: []string{"queue", "ready", "passed over: mean", "99 %", "most",
			"skipped: mean", "99 %", "most"},
	}
	engines := []workload.Engine[uint64]{
		engine.HeapQueue[uint64](),
		engine.Shardq[uint64](1), engine.Shardq[uint64](4), engine.Shardq[uint64](16), engine.Shardq[uint64](64),
	}
	for _, backlog := range []int{100, 5000} {
		for _, e := range engines {
			t.Rows = append(t.Rows, orderRow(r, e, backlog))
		}
	}
	r.section("Order", orderText)
	r.addTable(t)
}

const orderText = `How far from first in, first out. So many items are ready at any time while
others pass through the queue, in turns of one Add and one Get by 8 consumers,
so that the order is exact. *Passed over* is how many items that had been ready
for longer a Get left behind (the rank error). *Skipped* is how often a later
item went before an item. One shard is strict, as client-go is. The more items
are ready, the farther apart the heads of the shards can be.`

func orderRow(r *report, e workload.Engine[uint64], backlog int) []string {
	const consumers = 8
	d := workload.MeasureDisorder(workload.OrderOf(e.New(), r.scale.orderItems, backlog, consumers))
	fmt.Printf("BenchmarkOrder/backlog=%s/engine=%s/shards=%d 1 %g rank-error-mean\n",
		suite.Count(backlog), e.Name, e.Shards, workload.Mean(d.RankErrors))
	row := []string{engineName(e.Name, e.Shards), suite.Count(backlog)}
	for _, numbers := range [][]int{d.RankErrors, d.Skips} {
		row = append(row,
			figure(workload.Mean(numbers)),
			figure(float64(workload.Quantile(numbers, 0.99))),
			figure(float64(workload.Quantile(numbers, 1))))
	}
	return row
}
