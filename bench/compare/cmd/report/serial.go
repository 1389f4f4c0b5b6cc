package main

import (
	"fmt"

	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func serialCycle(r *report) {
	few, many := 1000, 1_000_000
	if r.scale.quick {
		many = 10_000
	}
	alone := cycleAlone(r, "string", workload.Strings(few))
	alone.floors = []floor{
		{subject: defaultShardq, atLeast: 2.2, bench: theFloor},
		{subject: defaultClaims, atLeast: 2.6, bench: floorClaims},
		{subject: oneShard, atLeast: 2.4, bench: theFloor},
		{subject: oneClaims, atLeast: 3, bench: floorClaims},
	}
	r.section("The serial cycle", serialText)
	r.table("ns for Add, Get and Done, in one goroutine",
		r.compare(alone),
		r.compare(cycleBeside(r, "string", workload.Strings(few))),
		r.compare(cycleAlone(r, "string", workload.Strings(many))),
		r.compare(cycleBeside(r, "string", workload.Strings(many))),
		r.compare(cycleAlone(r, "request", workload.Requests(few))),
		r.compare(cycleBeside(r, "request", workload.Requests(few))),
		r.compare(cycleAlone(r, "uint64", workload.Integers(few))),
		r.compare(cycleBeside(r, "uint64", workload.Integers(few))),
	)
}

const serialText = `One goroutine takes one item after the other through Add, Get and Done, without
contention. *Alone* means that the item is the only one in the queue. *Beside a
backlog* means that all other keys are ready too, so that tables and sets are as
large as the number of keys. The keys are strings of 30 bytes, a struct of two
strings (controller-runtime's ` + "`reconcile.Request`" + `), and uint64. The *floor* is
three hashes, three uncontended locks and three operations of a Go map, and
nothing else: the cost of three calls of a queue that hashes, locks and searches
once in each. Only a queue without one of these can be faster. *Floor-claims* is
one hash and three locks (` + "`bench/floor`" + `).`

// cycleAlone also measures the floors: that of Get and Done, and that of
// claims.
func cycleAlone[T comparable](r *report, kind string, keys []T) comparison {
	stream, items := workload.Uniform(keys), r.scale.cycles
	measure := func(e workload.Engine[T]) float64 {
		q := e.New()
		defer q.ShutDown()
		workload.Cycle(q, stream, items/100)
		return perItem(workload.Cycle(q, stream, items), items)
	}
	c := cycle(kind, len(keys), "ready=0", "alone", measure)
	c.subjects = append(c.subjects, subject{theFloor, "engine=floor/shards=1", func() float64 {
		return perItem(workload.Floor(stream, items), items)
	}})
	c.subjects = append(c.subjects, subjects(floors[T](len(keys))[1:], len(keys), measure)...)
	return c
}

func cycleBeside[T comparable](r *report, kind string, keys []T) comparison {
	items := r.scale.cycles
	ready := "ready=" + suite.Count(len(keys))
	return cycle(kind, len(keys), ready, "beside a backlog", func(e workload.Engine[T]) float64 {
		q := e.New()
		defer q.ShutDown()
		workload.AddAll(q, keys)
		workload.Rotate(q, len(keys))
		return perItem(workload.Rotate(q, items), items)
	})
}

func cycle[T comparable](kind string, keys int, ready, title string, measure func(workload.Engine[T]) float64) comparison {
	return comparison{
		name:     fmt.Sprintf("Cycle/key=%s/keys=%s/%s", kind, suite.Count(keys), ready),
		title:    fmt.Sprintf("serial cycle, %s keys of %s, %s", suite.Count(keys), kind, title),
		unit:     "ns/item",
		subjects: subjects(append(withClaims[T](), compare.ControllerRuntime[T]()), 10*keys, measure),
	}
}
