// Package debugpage serves a live page about queues: is the queue keeping up,
// and what is stuck?
//
//	mux.Handle("/debug/queues", debugpage.Handler(invoices, mails))
//
// In a browser the page updates itself. The same content comes as JSON with
// ?format=json, and as text for curl: see docs/reference/debugpage.md. The page
// keeps a few numbers of the last minute, to tell how each queue changes, and
// is read-only unless [Options].AllowActions is set.
//
// The page may show confidential data. By default the handler answers only
// clients on the same machine: see [Local] and [Options].Allow.
// [Options].RedactKey redacts keys.
package debugpage
