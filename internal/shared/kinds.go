// Package shared has the types of the words and locks that several cores write. In
// a usual build they are the types of sync and sync/atomic, under another name. In a
// build with the tag countwrites they count their writes and reads, so that it can
// be told how often an item moves a cache line from core to core.
//
// A type parameter says what a word is for. What is written once in the life of a
// queue, such as the flags of a shutdown, is not counted.
package shared

// A Scope says what shares a word.
type Scope uint8

const (
	// All shards of a queue share the word.
	All Scope = iota
	// Some shards of a queue share the word.
	Some
	// Lane: the consumers of one lane share the word.
	Lane
	// One: the word belongs to a shard.
	One
)

// A Kind says what a word is for.
type Kind interface {
	// Describe returns the name of the kind, and what shares its words.
	Describe() (name string, scope Scope)
}

type (
	// Ready bits say which shards have something to hand out. A word serves many
	// shards: all of them, in a queue with a single word.
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
	// Lock is a shard's lock. Taking it and releasing it is a write each.
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
