package shardqprom_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

func Example() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
	collector, err := shardqprom.NewCollector(shardqprom.Options{}, queue) // and others, or Add them later
	if err != nil {
		log.Fatal(err) // a queue without metrics, or two of one name
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	mux := http.NewServeMux() // for http.ListenAndServe(":8080", mux)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	queue.Add("invoice/17")
	page := httptest.NewRecorder() // for this example: Prometheus asks
	mux.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "workqueue_depth") {
			fmt.Print(line)
		}
	}
	// Output: workqueue_depth{name="invoices"} 1
}
