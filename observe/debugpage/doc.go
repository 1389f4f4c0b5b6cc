// Package debugpage serves a live page about queues, for those who operate them: is it keeping
// up, and what is stuck?
//
//	mux.Handle("/debug/queues", debugpage.Handler(invoices, mails))
//
// The page shows the queues' state and counters, their durations, their shards, the items in
// processing with the longest first, what is next, what fails most, groups, and how each queue
// was made. In a browser it updates itself; without JavaScript it is a plain page. The same
// comes as JSON with ?format=json, and as text with ?format=text or for curl: see
// docs/guide/debugpage.md.
//
// It only reads. Nothing runs while nobody looks: there is no goroutine, and no history is
// kept. Each look locks one shard after the other, each for a moment; see [Handler] for the
// cost.
//
// What it shows may be confidential, so by default it answers only to clients on the same
// machine: see [Local] and [Options].Allow. Keys can be redacted: [Options].RedactKey.
package debugpage
