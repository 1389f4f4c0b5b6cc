package workload_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

func TestEveryEngineCarriesTraffic(t *testing.T) {
	const items = 2000
	keys := workload.Strings(1024)
	load := workload.Load{Producers: 2, Consumers: 2, Warmup: 100, Items: items}
	for _, e := range append(engine.All(), engine.Floor(len(keys))) {
		t.Run(e.Name, func(t *testing.T) {
			open := workload.Open(e.New(), workload.Stream(keys), load)
			assert.GreaterOrEqual(t, open.Completed, items)
			closed := workload.Closed(e.New(), keys, load)
			assert.GreaterOrEqual(t, closed.Completed, items)
			delayed := e.New().(workload.DelayingQueue)
			assert.Positive(t, workload.DelayedCycle(delayed, keys, workload.Delays(len(keys), 5*time.Millisecond), 2))
		})
	}
}

func TestNothingIsEarly(t *testing.T) {
	keys := workload.Strings(100)
	for _, e := range engine.All() {
		late := workload.Lateness(e.New().(workload.DelayingQueue), keys, workload.Delays(len(keys), 20*time.Millisecond))
		assert.GreaterOrEqual(t, late[0], time.Duration(0), e.Name)
	}
}
