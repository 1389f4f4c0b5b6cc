// Package harness hammers a work queue with seeded workloads and checks its promises
// while it runs and afterwards. Command stress runs it over shardq and over the heap
// design; the comparison module runs it over client-go and controller-runtime.
//
// The way of a run: a [Plan] is drawn from a seed (plan.go), a [Target] makes the queue
// (target.go, items.go), actors use it (actor.go, producer.go, consumer.go), an ending
// brings it to rest (ending.go), and the books are settled (settle.go). The books are
//
//   - the ledger: one record per key, checked at every Get and Done (ledger.go),
//   - the order of shards, checked at every Get (order.go),
//   - the recorders: what each goroutine did last, and all that was done to a few
//     watched keys (recorder.go), which become histories that porcupine checks
//     (history.go),
//   - the watchdog, for what should happen and does not (watchdog.go).
//
// A round without a ledger is drawn now and then: the ledger's atomics put operations
// in an order that the race detector then takes for granted.
package harness
