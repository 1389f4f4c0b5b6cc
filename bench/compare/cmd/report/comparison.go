package main

import (
	"fmt"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// subject is one of the things that are compared.
type subject struct {
	name    string // in tables
	label   string // key=value, in benchmark lines
	measure func() float64
}

// comparison is one piece of work that several subjects do.
type comparison struct {
	name     string // key=value, in benchmark lines
	title    string // in tables
	unit     string
	subjects []subject
	floors   []floor
}

// outcome is the result of the rounds of a comparison.
type outcome struct {
	comparison
	values map[string][]float64 // by the name of the subject, in the order of rounds
}

// inRounds has each subject do the work once in each round. Each round begins
// with another subject.
func inRounds(c comparison, rounds int) outcome {
	o := outcome{comparison: c, values: map[string][]float64{}}
	for round := range rounds {
		for i := range c.subjects {
			s := c.subjects[(i+round)%len(c.subjects)]
			workload.Collect()
			value := s.measure()
			fmt.Printf("Benchmark%s/%s 1 %g %s\n", c.name, s.label, value, c.unit)
			o.values[s.name] = append(o.values[s.name], value)
		}
	}
	return o
}

// subjects makes a subject of each engine that accepts that number of keys.
func subjects[T comparable](engines []workload.Engine[T], keys int, measure func(workload.Engine[T]) float64) (all []subject) {
	for _, e := range engines {
		if e.Accepts(keys) {
			all = append(all, subject{
				name:    engineName(e.Name, e.Shards),
				label:   fmt.Sprintf("engine=%s/shards=%d", e.Name, e.Shards),
				measure: func() float64 { return measure(e) },
			})
		}
	}
	return all
}

func engineName(engine string, shards int) string {
	switch {
	case engine != "shardq" && engine != "claims":
		return engine
	case shards == 1:
		return engine + ", 1 shard"
	default:
		return fmt.Sprintf("%s, %d shards", engine, shards)
	}
}

// perItem returns nanoseconds.
func perItem(elapsed time.Duration, items int) float64 {
	return float64(elapsed.Nanoseconds()) / float64(items)
}
