package attempts

import (
	"sync"
	"sync/atomic"
	"time"
)

// Firsts are the times of the first failures of items, for pools that ask. A
// time counts while the limiter knows its item. It is an interface so that what
// it is made of is not compiled again for each type of items.
type Firsts interface {
	Any() bool
	// Keep also drops, now and then, what the limiter has forgotten by itself, so that
	// there are at most about twice as many times as histories.
	Keep(item any, at time.Time, isKnown func(item any) bool)
	Forget(item any)
	Of(item any) (at time.Time, ok bool)
}

func NewFirsts() Firsts { return &firsts{} }

type firsts struct {
	at         sync.Map     // time.Time by item
	kept, most atomic.Int64 // entries, and how many there may be before a sweep
}

func (f *firsts) Any() bool { return f.kept.Load() > 0 }

func (f *firsts) Keep(item any, at time.Time, isKnown func(item any) bool) {
	if _, known := f.at.Swap(item, at); known || f.kept.Add(1) <= f.most.Load() {
		return
	}
	for key := range f.at.Range {
		if !isKnown(key) {
			f.Forget(key)
		}
	}
	f.most.Store(2*f.kept.Load() + 64)
}

func (f *firsts) Forget(item any) {
	if _, known := f.at.LoadAndDelete(item); known {
		f.kept.Add(-1)
	}
}

func (f *firsts) Of(item any) (at time.Time, ok bool) {
	value, ok := f.at.Load(item)
	if ok {
		at = value.(time.Time)
	}
	return at, ok
}
