// Package debugpage serves a live page about queues: is the queue keeping up,
// and what is stuck?
//
//	mux.Handle("/debug/queues", debugpage.Handler(invoices, mails))
//
// The page shows the state, the counters, the durations and the configuration
// of each queue, its groups and its shards. It lists the items in flight with
// the longest first, the next items, and the items with most failures. In a
// browser the page updates itself. Without JavaScript it is a plain page. The
// same content comes as JSON with ?format=json, and as text with ?format=text
// or for curl: see docs/reference/debugpage.md.
//
// The page is read-only unless [Options].AllowActions is set. The handler
// starts no goroutine and keeps no history, so that nothing runs between
// requests. A request locks one shard after the other, each for a moment.
// [Handler] documents the cost.
//
// The page may show confidential data. By default the handler answers only
// clients on the same machine: see [Local] and [Options].Allow.
// [Options].RedactKey redacts keys.
package debugpage
