package shard

// A phase is the state of an item, apart from its delay. Whether the item is
// delayed is independent of the phase, and kept beside it (entry.delayed).
//
//	        added              taken                finished
//	idle ──────────▶ ready ──────────▶ processing ──────────▶ idle
//	     ◀──────────  ▲                │ added ▲
//	      canceled    │                ▼       │ canceled
//	                  └──────────────── dirty ─┘
//	                       finished
type phase uint8

const (
	idle       phase = iota // has an entry only while the item is delayed
	ready                   // in a run queue
	processing              // handed out by a Get; this phase and the next are in flight
	dirty                   // added again during the processing; its Done makes it ready

	phases
)

type event uint8

const (
	added    event = iota // by Add, or by a delay that expired
	taken                 // by Get, from a run queue
	finished              // by Done
	canceled              // by Cancel

	events
)

type effect uint8

const (
	ignore      effect = iota // the event breaks the rules here and changes nothing
	enqueue                   // put the item into its run queue
	deduplicate               // the next run serves the add as well
	mark                      // the add asks for one more run, after the present one
	handOut                   // give the item to the caller of Get
	retire                    // forget the item unless it is delayed
	withdraw                  // take the item out of its run queue, and forget it
	unmark                    // the present run is the last
)

type transition struct {
	to     phase
	effect effect
}

// transitions is the whole behavior of an item. It proves exclusion. The only
// way to handOut is from ready. The only ways to ready are from idle and, by
// the one Done that is owed, from dirty.
var transitions = [phases][events]transition{
	idle: {
		added:    {ready, enqueue},
		taken:    {idle, ignore},
		finished: {idle, ignore},
		canceled: {idle, ignore},
	},
	ready: {
		added:    {ready, deduplicate},
		taken:    {processing, handOut},
		finished: {ready, ignore},
		canceled: {idle, withdraw},
	},
	processing: {
		added:    {dirty, mark},
		taken:    {processing, ignore},
		finished: {idle, retire},
		canceled: {processing, ignore},
	},
	dirty: {
		added:    {dirty, deduplicate},
		taken:    {dirty, ignore},
		finished: {ready, enqueue},
		canceled: {processing, unmark},
	},
}

func (e *entry) step(what event) effect {
	t := transitions[e.status&phaseMask][what] // the mask spares a bounds check
	e.setPhase(t.to)
	return t.effect
}
