// Package harness hammers a work queue with seeded workloads and checks its promises
// while it runs and afterwards. Command stress runs it over shardq and over the heap
// design; the comparison module runs it over client-go and controller-runtime.
//
// The way of a run: a [Plan] is drawn from a seed (plan.go), a [Target] makes the queue
// (target.go, items.go), actors use it (actor.go, producer.go, consumer.go), an ending
// brings it to rest (ending.go), and the books are settled (settle.go). Before the actors
// begin, a queue that nobody else uses is asked what it must know exactly (opening.go),
// and after they have left, what is dropped then (closing.go). The books are
//
//   - the ledger: one record per key, checked at every Get and Done (ledger.go),
//   - the order of shards, checked at every Get (order.go),
//   - the recorders: what each goroutine did last, and all that was done to a few
//     watched keys (recorder.go), which become histories that porcupine checks
//     (history.go),
//   - the counters of calls, with which Stats and the limiter are compared (settle.go,
//     limits.go),
//   - the watchdog, for what should happen and does not (watchdog.go),
//   - the process: data races that the detector reports, and memory that is left when a
//     round is over (round.go, memory.go).
//
// What section I of docs/reference/semantics.md promises is put to the test in the same rounds, where
// the target has it (control.go): batches (batches.go), loops (loops.go), delay policies
// (policies.go), Cancel (cancels.go), capacity and watermarks (room.go), Drain (draining.go),
// and looks inside (ages.go); on a new queue in opening_control.go. In some rounds workers
// of section K take the place of the consumers (crew.go).
//
// In rounds with the ingredient claims (C60), consumers also take keys by Claim, TryClaim
// and ClaimBatch, and end them by Done, Retry, RequeueAfter, Release and DoneClaims
// (claims.go). Claims that have ended stay in a bounded pool. Consumers and producers
// end them again at random, also while a worker has the key, and two goroutines end
// one claim at the same moment. Each call that comes too late must return
// ErrClaimEnded and change nothing. Each hand-out of a key must have a greater fence
// than the one before. On a new queue, each of these calls is checked in turn
// (opening_claims.go).
//
// In some rounds keys are in fair groups, of section M (groups.go). Then the order is seen
// within a group and priority, with one shard as well, and checked are the limit at every Get
// (group_limit.go), the turns where one consumer alone takes from one shard (group_turns.go),
// and what Groups, All and Stats say of groups, beside everything else and when nothing is left
// (group_looks.go). A queue of its own with those groups, which one goroutine uses, is asked
// what it must know exactly: the turns beside a flood, and what is held back, also after a
// shutdown (group_trial.go).
//
// A violation that names a key is shown with the part of that key's history that is
// wrong by itself (explain.go).
//
// A round without a ledger is drawn now and then: the ledger's atomics put operations
// in an order that the race detector then takes for granted.
//
// What it does not check:
//
//   - how late a delay ends by the real clock (it is printed), and by a fake clock
//     between other calls: only on a new queue, and at the end of production, when every
//     delay must be over;
//   - the order of deadlines (C24), the order across shards (C5 beyond one shard), and
//     wake-ups of an idle queue (C25, but for timers of a fake clock at rest);
//   - the limiters themselves (C29 to C32), and of NumRequeues under load only that it
//     does not exceed what the limiter was asked;
//   - Len and Stats under load beyond bounds, and which of the counters of adds is wrong
//     where delays are dropped or canceled;
//   - CancelDelayOnAdd beside other calls: only on a new queue;
//   - the rate limiter, the counters of a shutdown and the memory of the small queues one
//     by one, and in a queue with more than 16 shards, what of C8 takes more further
//     operations than a round has;
//   - the order in which those who wait for room are let in (C40), and that room is not
//     refused under load while there is some: only on a new queue, at rest, and for a key
//     that a worker has in hand;
//   - by the real clock, that OnStuck is not told too soon (C44) but by the queue's own
//     stamps, and by a fake clock to a tick and a step;
//   - panics of OnWatermark and of OnStuck (C17);
//   - turns of groups (C47) under load with more than one shard, or more than one consumer,
//     and that none of several consumers is told of a shutdown while something is held back
//     (C48), but of the few keys that have a history;
//   - claims (C60) beside workers of section K, and Retry and RequeueAfter beside a
//     drain that takes retries in;
//   - beside workers of section K: the order of what they get, histories, user code that
//     panics but for handlers (C51), a fake clock, their own drains (C49), and timeouts;
//   - leaks of less than 1 MiB in a run, and data races in a program that was not
//     built with -race.
package harness
