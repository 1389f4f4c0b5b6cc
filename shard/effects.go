package shard

// effects are what remains to be done once the shard's lock is released.
type effects uint16

const (
	// The reports of a shard, once for each time that it owes one: see drain.go.
	quiet       effects = 1 << iota // nothing is ready or in processing
	noneDelayed                     // nothing is delayed
	empty                           // nothing is held, for a Drain; items in processing may be added
	emptyNow                        // nothing is held, for a WaitIdle; adds go on
	still                           // nothing is in processing or can be taken at once, for a Drain with a deadline
	files                           // the wait of a group was filed, and the driver's timer may be later
	took                            // the operation was not ignored
	wakes                           // there may be something for a parked consumer to take
	yields                          // the add was one of many in a row that were deduplicated
	tells                           // a change is kept for a watch, or an add was dropped
	reports     = quiet | noneDelayed | empty | emptyNow | still | files
)

// owed has the reports that a shard owes. Its layout leaves a byte for them.
type owed uint8
