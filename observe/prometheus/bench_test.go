package shardqprom_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// BenchmarkScrape measures one scrape of ten queues of 32 shards: collected
// alone, gathered by a registry, and served as text.
func BenchmarkScrape(b *testing.B) {
	c := newCollector(b, shardqprom.Options{})
	for n := range 10 {
		q := shardq.MustNew(shardq.Options[int]{Name: fmt.Sprint("queue ", n), Shards: 32, Metrics: true})
		for key := range 1000 {
			q.Add(key)
			q.AddAfter(key, time.Duration(key+1)*time.Minute)
		}
		for range 500 {
			item, _ := q.Get()
			q.Done(item)
		}
		if err := c.Add(q); err != nil {
			b.Fatal(err)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
	for name, scrape := range map[string]func(){
		"collect":    func() { c.Collect(make(chan prometheus.Metric, 1000)) },
		"gather":     func() { _, _ = registry.Gather() },
		"serve/text": func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				scrape()
			}
		})
	}
}
