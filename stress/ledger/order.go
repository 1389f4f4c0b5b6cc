package ledger

import "sync/atomic"

// Order checks the order in which Once keys are handed out. The keys of a group
// and of a priority are a line, and a shard hands out a line in order:
//
//   - If a key was ready before the Add of another key of the line began, no
//     Get of the other has returned before the Get of the first was called.
//   - If priorities are strict, a Get that was called while a key was ready
//     returned none of a lower priority of its group.
type Order struct {
	// LineOf returns the line of a key. The lines of a group follow each other,
	// from the lowest priority to the highest. There are Priorities of them.
	LineOf     func(key int) int
	Priorities int
	Strict     bool // priorities are strict
	// Lines has for each line what Gets have returned.
	Lines []Line
}

// A Line has the latest stamp at which the Add of a key began that Gets of the
// line have returned, and the latest at which such a Get was called.
type Line struct{ began, called atomic.Int64 }

type line struct{ began, called int64 }

func (o *Order) read(s *Sight) {
	s.lines = s.lines[:0]
	for i := 0; o != nil && i < len(o.Lines); i++ {
		s.lines = append(s.lines, line{o.Lines[i].began.Load(), o.Lines[i].called.Load()})
	}
}

func (o *Order) begin(l *Ledger, key int, r *record, s *Sight, class Class) {
	if class != Once || len(s.lines) == 0 {
		return
	}
	number, landing := o.LineOf(key), r.landing.Load()
	if landing > 0 {
		o.check(l, key, number, landing, r, s)
	}
	raise(&o.Lines[number].began, r.began.Load())
	raise(&o.Lines[number].called, s.called)
}

func (o *Order) check(l *Ledger, key, number int, landing int64, r *record, s *Sight) {
	l.check(r, s.lines[number].began > landing,
		"order: key %d was ready before a key of its line was added that was handed out earlier", key)
	for lower := number - number%o.Priorities; o.Strict && lower < number; lower++ {
		l.check(r, s.lines[lower].called > landing,
			"priorities: while key %d was ready, a Get returned a key of a lower priority", key)
	}
}
