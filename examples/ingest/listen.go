package main

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/observe/debugpage"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// serve serves the live page, to clients on this machine, and /metrics for
// Prometheus.
func serve(listener net.Listener, queue shardq.Inspector) *http.Server {
	page, err := debugpage.New(debugpage.Options{Title: "ingest", Queues: []shardq.Inspector{queue}})
	collector, err2 := shardqprom.NewCollector(shardqprom.Options{}, queue)
	if err = errors.Join(err, err2); err != nil {
		panic(err) // the options are fixed
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // until Close
	return server
}
