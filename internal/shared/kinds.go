// Package shared defines the types of the words and locks that several cores
// write. In a usual build they are aliases of the types of sync and
// sync/atomic. In a build with the tag countwrites they count their writes and
// reads, which shows how often an item moves a cache line from core to core.
//
// A type parameter names the purpose of a word. Words that are written once in
// the life of a queue, such as the flags of a shutdown, are not counted.
package shared

// A Scope is the set of users that share a word.
type Scope uint8

const (
	// All means that all shards of a queue share the word.
	All Scope = iota
	// Some means that some shards of a queue share the word.
	Some
	// Lane means that the consumers of one lane share the word.
	Lane
	// One means that the word belongs to a single shard.
	One
)

// A Kind names the purpose of a word.
type Kind interface {
	// Describe returns the name of the kind and the scope of its words.
	Describe() (name string, scope Scope)
}

type (
	// Ready bits mark the shards that have a ready item. A word serves many
	// shards, or all of them in a queue with a single word.
	Ready struct{}
	// Parking has the parked and searching words, and the token.
	Parking struct{}
	// Priorities has the part of the priority bitmap that all shards share.
	Priorities struct{}
	// PriorityShards has the words of a priority, with a bit for each shard.
	PriorityShards struct{}
	// Throttled counts the groups at their limit.
	Throttled struct{}
	// Held counts the items held, for a queue with a capacity or a watermark.
	Held struct{}
	// Clock has the coarse clock, for a queue that keeps ages.
	Clock struct{}
	// Timer has the words of the driver and of the watchdog.
	Timer struct{}
	// Turn has the words of a lane.
	Turn struct{}
	// Deadline is a shard's next deadline.
	Deadline struct{}
	// Lock is a shard's lock. Taking it and releasing it are one write each.
	Lock struct{}
)

func (Ready) Describe() (string, Scope)          { return "ready bits", Some }
func (Parking) Describe() (string, Scope)        { return "parking", All }
func (Priorities) Describe() (string, Scope)     { return "priority bitmap", All }
func (PriorityShards) Describe() (string, Scope) { return "shards of a priority", Some }
func (Throttled) Describe() (string, Scope)      { return "throttled groups", All }
func (Held) Describe() (string, Scope)           { return "items held", All }
func (Clock) Describe() (string, Scope)          { return "coarse clock", All }
func (Timer) Describe() (string, Scope)          { return "timer", All }
func (Turn) Describe() (string, Scope)           { return "turn of a lane", Lane }
func (Deadline) Describe() (string, Scope)       { return "deadline of a shard", One }
func (Lock) Describe() (string, Scope)           { return "lock of a shard", One }
