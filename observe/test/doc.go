// Package conformance has no code. Its directories have tests whose
// dependencies no user of shardq should have to download. They compare what
// package observe/prometheus exports with what Kubernetes and
// controller-runtime export of client-go's queues. They also check the
// dashboard, the alert rules and their documents with Prometheus itself.
package conformance
