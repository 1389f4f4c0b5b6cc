// Package interop has no code. Its directories run shardq beside the programs of
// others, which no user of shardq should have to download: the page in a
// browser; dashboard, alert rules and scrapes with Prometheus itself; the series
// beside those of Kubernetes and controller-runtime; and the tests of client-go and
// controller-runtime over shardq's queues.
package interop
