package shardqprom_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/worker"
)

// TestScrapesBesideWorkers runs scrapes, changes of the queues, and eight
// workers concurrently. No counter goes down, and in the end everything is
// counted.
func TestScrapesBesideWorkers(t *testing.T) {
	const keys, rounds = 64, 40
	q := shardq.MustNew(shardq.Options[int]{Name: "busy", Metrics: true, Group: func(k int) string { return fmt.Sprint(k % 8) }})
	c := newCollector(t, shardqprom.Options{Groups: 4}, q)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)

	worked := make(chan error)
	go func() {
		worked <- q.Run(context.Background(), 8, func(_ context.Context, key int) error {
			if key%5 == 0 {
				return worker.RequeueAfter(time.Millisecond)
			}
			return nil
		})
	}()
	over := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { scrapeUntil(t, registry, over) })
	others.Go(func() { comeAndGo(t, c, over) })

	for range rounds {
		for key := range keys {
			q.Add(key)
		}
	}
	_, err := q.Drain(t.Context(), shardq.DrainOptions{})
	require.NoError(t, err)
	require.NoError(t, <-worked)
	close(over)
	others.Wait()
	require.Empty(t, gatherFrom(t, registry), "all are closed")
}

// scrapeUntil scrapes until over is closed.
func scrapeUntil(t *testing.T, registry prometheus.Gatherer, over chan struct{}) {
	for adds := 0.0; ; {
		families, err := registry.Gather()
		if err != nil {
			t.Errorf("a scrape failed: %v", err)
			return
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "workqueue_adds_total" && hasAll(m, []string{"name=busy"}) {
					if m.Counter.GetValue() < adds {
						t.Errorf("%v adds after %v", m.Counter.GetValue(), adds)
					}
					adds = m.Counter.GetValue()
				}
			}
		}
		select {
		case <-over:
			return
		default:
		}
	}
}

// comeAndGo adds queues and closes or removes them until over is closed.
func comeAndGo(t *testing.T, c *shardqprom.Collector, over chan struct{}) {
	for i := 0; ; i++ {
		q := shardq.MustNew(shardq.Options[int]{Name: "brief", Shards: 1, Metrics: true})
		if err := c.Add(q); err != nil {
			t.Errorf("the name is free: %v", err)
			return
		}
		q.Add(1)
		if i%2 == 0 {
			c.Remove("brief")
		}
		item, _ := q.Get()
		q.ShutDown()
		q.Done(item)
		select {
		case <-over:
			return
		default:
		}
	}
}
