package shardqotel_test

import (
	"context"
	"fmt"
	"log"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/shardq/shardq"
	shardqotel "github.com/shardq/shardq/observe/otel"
)

func Example() {
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
	queue.Add("invoice/17")

	observer, err := shardqotel.NewObserver(shardqotel.Options{}, queue)
	if err != nil {
		log.Fatal(err)
	}
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(observer)) // or a periodic reader with an exporter
	registration, err := observer.Register(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	if err != nil {
		log.Fatal(err)
	}
	defer registration.Unregister()

	var read metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &read); err != nil {
		log.Fatal(err)
	}
	for _, scope := range read.ScopeMetrics {
		for _, m := range scope.Metrics {
			if depth, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "workqueue.depth" {
				fmt.Println(m.Name, m.Unit, depth.DataPoints[0].Value)
			}
		}
	}
	// Output: workqueue.depth {item} 1
}
