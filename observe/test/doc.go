// Package test has no code. Its directories have tests whose dependencies no
// user of shardq should have to download: the page in a browser; the series
// beside those of Kubernetes and controller-runtime; and the dashboard, the
// alert rules and their documents, with Prometheus itself.
package test
