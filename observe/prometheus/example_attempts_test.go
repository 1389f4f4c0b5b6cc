package shardqprom_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
	"github.com/shardq/shardq/worker"
)

// With Metrics, the attempts of workers are counted by their results. All
// results have a sample from the start. A queue that is shut down and empty has
// none, so these workers leave because their context ends.
func ExampleNewCollector_attempts() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true, Shards: 1})
	queue.AddBatch([]string{"invoice/17", "invoice/18", "invoice/19"}, shardq.AddOptions{})
	ctx, stop := context.WithCancel(context.Background())
	_ = queue.Run(ctx, 1, func(_ context.Context, invoice string) error {
		switch invoice {
		case "invoice/18":
			return worker.Permanent(errors.New("no such customer"))
		case "invoice/19":
			stop()
		}
		return nil
	})

	collector, err := shardqprom.NewCollector(shardqprom.Options{}, queue)
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather() // in a program, promhttp does that
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "shardq_attempts_total" {
			for _, sample := range family.GetMetric() {
				fmt.Println(sample.GetLabel()[1].GetValue(), sample.GetCounter().GetValue())
			}
		}
	}
	// Output:
	// discarded 1
	// error 0
	// panic 0
	// requeue 0
	// success 2
	// timeout 0
}
