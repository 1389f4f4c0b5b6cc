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
	// idle: neither ready nor processing. An entry in this phase exists only
	// while its item is delayed.
	idle phase = iota
	// ready: in a run queue.
	ready
	// processing: handed out by a Get, and not yet Done. This phase and the
	// next are in flight.
	processing
	// dirty: processing, and added again since. Its Done makes it ready.
	dirty

	phases
)

// An event is what happens to an item.
type event uint8

const (
	// added: by Add, or by a delay that expired.
	added event = iota
	// taken: by Get, from a run queue.
	taken
	// finished: by Done.
	finished
	// canceled: by Cancel.
	canceled

	events
)

// An effect is what the shard has to do because of an event.
type effect uint8

const (
	// ignore: the event breaks the rules here and changes nothing.
	ignore effect = iota
	// enqueue: put the item into its run queue.
	enqueue
	// deduplicate: the next run serves the add as well.
	deduplicate
	// mark: the add asks for one more run, after the present one.
	mark
	// handOut: give the item to the caller of Get.
	handOut
	// retire: forget the item unless it is delayed.
	retire
	// withdraw: take the item out of its run queue, and forget it.
	withdraw
	// unmark: the present run is the last.
	unmark
)

type transition struct {
	to     phase
	effect effect
}

// transitions is the whole behaviour of an item. It proves exclusion. The only
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

// step applies an event to an entry and returns what the shard has to do.
func (e *entry[T]) step(what event) effect {
	t := transitions[e.status&phaseMask][what] // the mask spares a bounds check
	e.setPhase(t.to)
	return t.effect
}
