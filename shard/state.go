package shard

// A phase says where an item is on its way. Whether it also waits for a delay is
// independent of that, and kept beside it (entry.waiting()).
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
	// while its item waits for a delay.
	idle phase = iota
	// ready: in a run queue, for a Get to take.
	ready
	// processing: handed out by a Get, and not yet Done. (The phases from here on are in
	// flight.)
	processing
	// dirty: processing, and added again since; its Done makes it ready.
	dirty

	phases
)

// An event is what happens to an item.
type event uint8

const (
	// added: by Add, or by a delay that ended.
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
	// merge: the add is served by a run that is to come anyway.
	merge
	// mark: the add asks for one more run, after the present one.
	mark
	// handOut: give the item to the caller of Get.
	handOut
	// retire: the item is through; forget it unless it waits.
	retire
	// withdraw: take the item out of its run queue, and forget it.
	withdraw
	// unmark: the item is not to run once more after the present run.
	unmark
)

type transition struct {
	to     phase
	effect effect
}

// transitions is the whole behaviour of an item. Exclusion can be read off it: the
// only way to handOut is from ready, and the only ways to ready are from idle and,
// by the one Done that is owed, from dirty.
var transitions = [phases][events]transition{
	idle: {
		added:    {ready, enqueue},
		taken:    {idle, ignore},
		finished: {idle, ignore},
		canceled: {idle, ignore},
	},
	ready: {
		added:    {ready, merge},
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
		added:    {dirty, merge},
		taken:    {dirty, ignore},
		finished: {ready, enqueue},
		canceled: {processing, unmark},
	},
}

// step moves an entry along and returns what the shard has to do.
func (e *entry[T]) step(what event) effect {
	t := transitions[e.status&phaseMask][what] // the mask spares a bounds check
	e.setPhase(t.to)
	return t.effect
}
