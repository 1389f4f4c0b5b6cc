// Package wake finds ready items and wakes consumers for them. [Ready] has a bit
// for each shard from which an item can be taken, and [Priorities] tells which of
// them serve which priority. A shard changes its bits under its own lock, and
// consumers read them without. [Parker] has the consumers that found nothing.
package wake
