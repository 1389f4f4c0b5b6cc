// Package conformance has no code. Its directories hold tests that need what no user of shardq
// should have to download: they compare what package observe/prometheus shows with what Kubernetes
// and controller-runtime show of client-go's queues, and check the dashboard, the alert rules and
// their documents with Prometheus itself.
package conformance
