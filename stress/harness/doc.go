// Package harness runs seeded workloads against a work queue, and checks the
// promises of the queue while it runs and afterwards. Command stress runs it
// against shardq and the heap design. The comparison module runs it against
// client-go and controller-runtime.
//
// A round has these steps: a [Plan] is drawn from a seed (plan.go), a [Target]
// makes the queue (target.go, items.go), actors use it (actor.go, producer.go,
// consumer.go), an ending brings it to rest (ending.go), and the records are
// compared (settle.go). Before the actors begin, one goroutine checks the exact
// results of a new queue (opening.go). After the actors have left, it checks
// what a shut down queue drops (closing.go).
//
// These parts check the queue:
//
//   - the ledger: one record per key, checked at every Get and Done (ledger.go)
//   - the order of shards, checked at every Get (order.go)
//   - the recorders: the last operations of each goroutine, and all operations
//     on a few watched keys (recorder.go), whose histories porcupine checks
//     (history.go)
//   - the counters of calls, which are compared with Stats and the limiter
//     (settle.go, limits.go)
//   - the watchdog, which detects a hang (watchdog.go)
//   - the process: data races that the detector reports, and memory that is
//     left after a round (round.go, memory.go)
//
// The same rounds test section I of docs/reference/semantics.md, if the target
// has it (control.go): batches (batches.go), loops (loops.go), delay policies
// (policies.go), Cancel (cancels.go), capacity and watermarks (capacity.go),
// Drain (draining.go), and Snapshot and All (ages.go). opening_control.go tests
// it on a new queue. In some rounds the workers of section K replace the
// consumers (workers.go).
//
// In rounds with the ingredient claims (C60), consumers also take keys by
// Claim, TryClaim and ClaimBatch, and end them by Done, Retry, RequeueAfter,
// Release and DoneClaims (claims.go). Claims that have ended stay in a bounded
// pool. Consumers and producers end them again at random, also while a worker
// has the key, and two goroutines end one claim at the same moment. Each late
// call must return ErrClaimEnded and change nothing. Each claim of a key must
// have a greater fence than the one before. On a new queue, each of these calls
// is checked in turn (opening_claims.go).
//
// In some rounds keys are in the groups of section M (groups.go). Then the
// order is checked within a group and priority, also with one shard. The limit
// is checked at every Get (group_limit.go), the turns where one consumer alone
// takes from one shard (group_turns.go), and the results of Groups, All and
// Stats during other operations and at rest (group_readings.go). A separate
// queue with these groups, which one goroutine uses, has exact results: the
// turns during a flood, and throttling, also after a shutdown (group_trial.go).
//
// In rounds with the ingredient Pauses, an actor pauses and resumes the queue
// and its groups, and changes their rates (gatekeeper.go). A Get that is called
// during a pause must return nothing of what is paused (pauses.go), and no more
// items may be handed out than a rate allows (rates.go). The same holds for the
// claims of a worker.Pool (pool_source.go). Once all is resumed, the queue must
// become empty.
//
// In rounds with the ingredient Windows, adds have NotAgainWithin, at once and
// after a delay, by all four methods with options (once.go, once_batches.go).
// The ledger knows which pairs of adds cannot both be accepted (windows.go).
//
// A violation that names a key is printed with the shortest part of the key's
// history that is wrong by itself (explain.go).
//
// Some rounds have no ledger. The atomics of the ledger order the operations,
// and so hide data races from the detector.
//
// The harness does not check these:
//
//   - the lateness of delays by the real clock, which it prints; by a fake
//     clock, it checks lateness only on a new queue, and at the end of
//     production, when every delay must have expired
//   - the order of deadlines (C24), the order across shards (C5 beyond one
//     shard), and wake-ups of an idle queue (C25, except timers of a fake clock
//     at rest)
//   - the limiters themselves (C29 to C32); under load, it checks only that
//     NumRequeues does not exceed the calls of the limiter
//   - Len and Stats under load beyond bounds, and which of the counters of adds
//     is wrong where delays are dropped or canceled
//   - CancelDelayOnAdd during other calls: only on a new queue
//   - the rate limiter, the counters of a shutdown and the memory of single
//     small queues; in a queue with more than 16 shards, the part of C8 that
//     takes more operations than a round has
//   - the order in which blocked AddContext calls continue (C40), and that room
//     is granted under load: only on a new queue, at rest, and for a key that a
//     worker has
//   - under load, that OnStuck is not called too early (C44), except by the
//     queue's own stamps; on a new queue with a fake clock, it is checked to
//     two ticks
//   - panics of OnWatermark and of OnStuck (C17)
//   - turns of groups (C47) under load with more than one shard or more than
//     one consumer; and that with several consumers no Get reports a shutdown
//     while a group is throttled (C48), except for the few keys that have a
//     history
//   - claims (C60) together with workers of section K; Retry and RequeueAfter
//     during a drain that accepts retries
//   - together with workers of section K: the order of their items, histories,
//     panics of user code except handlers (C51), a fake clock, their own drains
//     (C49), and timeouts
//   - that a rate allows as many items as it should (C67, C69), and a Get that
//     waits when a pause begins
//   - windows (C80) of batches where user code panics or all adds honor a
//     capacity, and of keys that several producers add in batches
//   - leaks of less than 1 MiB in a run, and data races in a program that was
//     not built with -race
package harness
