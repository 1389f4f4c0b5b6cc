// Package line is the order in which a shard hands out its ready items: a FIFO,
// or one for each priority (levels.go), or such queues of groups that take turns
// (groups.go, turns.go), as far as limits, rates and pauses let them (waits.go).
//
// A [Line] knows neither locks nor clocks nor the other shards. Its shard calls
// it with its lock held, gives it the entries and the time, and afterwards reads
// what others must learn: whether anything can be taken, how many groups were
// throttled or freed, which priority is served, and when a wait ends. An item's
// processing belongs to the line as well, because a limit counts it.
//
// Moments are nanoseconds on the axis of package ticks. The ends of waits are ticks.
package line
