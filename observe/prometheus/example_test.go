package shardqprom_test

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

func Example() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
	queue.Add("invoice/17")

	collector, err := shardqprom.NewCollector(shardqprom.Options{}, queue)
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()

	response, err := server.Client().Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "workqueue_depth") {
			fmt.Print(line)
		}
	}
	// Output:
	// # HELP workqueue_depth [BETA] Current depth of workqueue
	// # TYPE workqueue_depth gauge
	// workqueue_depth{name="invoices"} 1
}
