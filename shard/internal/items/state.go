package items

// A Phase is the state of an item, apart from its delay. Whether the item is
// delayed is independent of the phase, and kept beside it (Entry.Delayed).
//
//	        added              taken                finished
//	idle ──────────▶ ready ──────────▶ processing ──────────▶ idle
//	     ◀──────────  ▲                │ added ▲
//	      canceled    │                ▼       │ canceled
//	                  └──────────────── dirty ─┘
//	                       finished
type Phase uint8

const (
	Idle       Phase = iota // has an entry only while the item is delayed
	Ready                   // in the line
	Processing              // handed out by a Get; this phase and the next are in flight
	Dirty                   // added again during the processing; its Done makes it ready

	phases
)

type Event uint8

const (
	Added    Event = iota // by Add, or by a delay that expired
	Taken                 // by Get, from the line
	Finished              // by Done
	Canceled              // by Cancel

	events
)

type Effect uint8

const (
	Ignore      Effect = iota // the event breaks the rules here and changes nothing
	Enqueue                   // put the item into the line
	Deduplicate               // the next run serves the add as well
	Mark                      // the add asks for one more run, after the present one
	HandOut                   // give the item to the caller of Get
	Retire                    // forget the item unless it is delayed
	Withdraw                  // take the item out of the line, and forget it
	Unmark                    // the present run is the last
)

type transition struct {
	to     Phase
	effect Effect
}

// transitions is the whole behavior of an item. It proves exclusion. The only
// way to HandOut is from ready. The only ways to ready are from idle and, by
// the one Done that is owed, from dirty.
var transitions = [phases][events]transition{
	Idle: {
		Added:    {Ready, Enqueue},
		Taken:    {Idle, Ignore},
		Finished: {Idle, Ignore},
		Canceled: {Idle, Ignore},
	},
	Ready: {
		Added:    {Ready, Deduplicate},
		Taken:    {Processing, HandOut},
		Finished: {Ready, Ignore},
		Canceled: {Idle, Withdraw},
	},
	Processing: {
		Added:    {Dirty, Mark},
		Taken:    {Processing, Ignore},
		Finished: {Idle, Retire},
		Canceled: {Processing, Ignore},
	},
	Dirty: {
		Added:    {Dirty, Deduplicate},
		Taken:    {Dirty, Ignore},
		Finished: {Ready, Enqueue},
		Canceled: {Processing, Unmark},
	},
}

func (e *Entry) Step(what Event) Effect {
	t := transitions[e.status&phaseMask][what] // the mask spares a bounds check
	e.setPhase(t.to)
	return t.effect
}
