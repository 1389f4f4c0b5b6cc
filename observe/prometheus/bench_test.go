package shardqprom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// used returns a collector of queues that have processed items.
func used(b *testing.B, queues int) *shardqprom.Collector {
	c := newCollector(b, shardqprom.Options{})
	for n := range queues {
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
	return c
}

// BenchmarkScrape measures one scrape of ten queues of 32 shards: collected
// alone, gathered by a registry, and served as text and as protobuf.
func BenchmarkScrape(b *testing.B) {
	c := used(b, 10)
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})

	b.Run("collect", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			metrics := make(chan prometheus.Metric, 1000)
			c.Collect(metrics)
		}
	})
	b.Run("gather", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := registry.Gather(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, format := range map[string]string{
		"text":     "text/plain",
		"protobuf": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	} {
		b.Run("serve/"+name, func(b *testing.B) {
			b.ReportAllocs()
			request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			request.Header.Set("Accept", format)
			for b.Loop() {
				handler.ServeHTTP(httptest.NewRecorder(), request)
			}
		})
	}
}
