package coalesce

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// The errors of a [Source]. ErrOffset is wrapped in an error with details.
var (
	ErrOffset       = errors.New("an offset is not higher than those before")
	ErrSourceClosed = errors.New("coalesce: source is closed")
)

// A Source is an ordered log, such as a partition or a file, whose events are put
// into a [Coalescer]. It knows from where to read again after a crash: see
// [Source.Safe]. It needs memory for each value that is not done, and not for each
// event. It is made by [Coalescer.NewSource].
//
// Put, PutContext and Skip are for one goroutine, the one that reads the log. Other
// methods are safe for concurrent use.
type Source[K comparable, V any] struct {
	c         *Coalescer[K, V]
	ledger    *ledger
	now       uint32 // of the last reading of the clock, in ageUnits
	offset    int64  // of the Put that goes on
	putting   bool
	undropped leftover[K, V] // of Drops
}

// NewSource returns a source that has read all offsets below from, or an error if a
// source with this name is open.
func (c *Coalescer[K, V]) NewSource(name string, from int64) (*Source[K, V], error) {
	l := newLedger(name, max(from, math.MinInt64+1)) // so that there is one before
	if !c.sources.add(l) {
		return nil, fmt.Errorf("coalesce: source %q is open already: want Finish or Drop before", name)
	}
	return &Source[K, V]{c: c, ledger: l}, nil
}

// Name returns the name of the source.
func (s *Source[K, V]) Name() string { return s.ledger.name }

// Put is [Coalescer.Put] of a value with its offset. It also returns [ErrSourceClosed],
// and an error that wraps [ErrOffset] if the offset is not higher than all before it.
// With an error, or if Merge or Weight panics, the offset may be put again.
func (s *Source[K, V]) Put(key K, value V, offset int64) error {
	p := putter[K, V]{teller: teller[K, V]{c: s.c, key: key}, value: value}
	p.from = s // in the literal, it would make the compiler copy the putter
	if err := s.begin(offset); err != nil {
		return err
	}
	defer s.end() // also if user code panics
	return p.begin(forceAcquire)
}

// PutContext is [Coalescer.PutContext] of a value with its offset. It returns the same
// further errors as [Source.Put].
func (s *Source[K, V]) PutContext(ctx context.Context, key K, value V, offset int64, options PutOptions) error {
	p := putter[K, V]{teller: teller[K, V]{c: s.c, key: key}, value: value}
	p.from = s
	if err := s.begin(offset); err != nil {
		return err
	}
	defer s.end()
	return p.await(ctx, options)
}

// Skip says that the event at offset is not put. It returns the same errors about
// the offset and the source as [Source.Put].
func (s *Source[K, V]) Skip(offset int64) error {
	if err := s.begin(offset); err != nil {
		return err
	}
	defer s.end()
	if s.ledger.closing.Load() {
		return ErrSourceClosed
	}
	some := &s.c.stripes.all[0]
	some.mu.Lock()
	defer some.mu.Unlock()
	s.ledger.skipLocked(offset)
	return nil
}

func (s *Source[K, V]) begin(offset int64) error {
	l := s.ledger
	// The clock would cost a quarter of a Put. So it is read only now and then, and if
	// somebody has looked since.
	if l.looked.Load() || l.events%64 == 0 {
		s.now = s.c.sources.now() // may panic
		l.looked.Store(false)
	}
	if s.putting {
		panic("coalesce: Source was called during its Put, by Merge or another goroutine")
	}
	if offset <= l.read || offset == math.MaxInt64 {
		return fmt.Errorf("coalesce: offset of source %q is %d: want %d or more, and less than the greatest: %w",
			l.name, offset, l.read+1, ErrOffset)
	}
	s.offset, s.putting = offset, true
	return nil
}

func (s *Source[K, V]) end() { s.putting = false }

// Safe returns the offset from which reading must begin again after a crash: the
// lowest that is not done, or the one after the last that was read. It takes
// constant time.
//
// An event is done when the handler of its value has succeeded, when OnDiscard has
// returned for it, or when it was canceled. A value that leaves the Coalescer in
// another way, such as by a shutdown, is never done.
func (s *Source[K, V]) Safe() int64 { return s.ledger.safe() }

// Finish closes the source to new offsets, and waits until all are done. Lingers,
// delays and backoffs of its keys end at once, but not those that begin later. Finish
// returns ctx.Err() if ctx ends first. After that, call Finish again, or
// [Source.Drop].
func (s *Source[K, V]) Finish(ctx context.Context) error {
	s.ledger.close(false)
	for _, key := range s.c.keysOf(func(l *line[V]) bool { return l.isDelayedOf(s.ledger) }) {
		s.c.shards.EndDelay(key) // as an operator's RetryNow
	}
	if err := await(ctx, s.ledger.ended); err != nil {
		return err
	}
	if s.ledger.dropped.Load() {
		return ErrSourceClosed
	}
	s.c.sources.remove(s.ledger)
	return nil
}

// Drop closes the source, and takes out and returns the pending values of those keys
// that have events of this source alone. A worker keeps the value that it has. If all
// events of that value are of this source, it is not given back when it fails. Values
// that another call is merging, taking or returning stay. Safe no longer changes.
// If user code panics, call Drop again, which returns all that was taken out.
func (s *Source[K, V]) Drop() (dropped []Entry[K, V]) {
	s.ledger.close(true)
	s.c.sources.remove(s.ledger)
	return s.undropped.collect(func(dropped *[]Entry[K, V]) {
		s.c.dropOnly(dropped, s.c.keysOf(func(l *line[V]) bool { return l.isOnlyOf(s.ledger) }), s.ledger)
	})
}

// Offsets returns an iterator over the names of the sources whose events are in the
// value of key that is in processing, each with its highest offset in that value. A
// handler may store them beside the value, to know after a crash which events the
// store has. Pending values of the key do not count.
func (c *Coalescer[K, V]) Offsets(key K) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) { maps.All(c.offsetsOf(key))(yield) }
}

// offsetsOf joins a source that was dropped with one that was opened by its name
// since: whoever keeps offsets by name needs the highest.
func (c *Coalescer[K, V]) offsetsOf(key K) map[string]int64 {
	s, highest := c.stripeOf(key), map[string]int64{}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flightLocked(key)
	for part := range f.mark.parts {
		name := part.of.ledger.name
		if other, is := highest[name]; !is || other < part.highest {
			highest[name] = part.highest
		}
	}
	return highest
}

// sources are the open ones, in the order in which they were made.
type sources struct {
	used  atomic.Bool // there was one
	clock clock.Clock
	mu    sync.Mutex
	open  []*ledger
}

func (s *sources) now() uint32 { return uint32(s.clock.Now().UnixMilli() / ageUnit.Milliseconds()) }

func (s *sources) add(l *ledger) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.open, func(other *ledger) bool { return other.name == l.name }) {
		return false
	}
	s.used.Store(true)
	s.open = append(s.open, l)
	return true
}

func (s *sources) remove(l *ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(other *ledger) bool { return other == l })
}

func (c *Coalescer[K, V]) sourceStats() (all []stats.Source) {
	if !c.sources.used.Load() {
		return nil
	}
	now := c.sources.now() // user code
	c.sources.mu.Lock()
	defer c.sources.mu.Unlock()
	for i := range c.stripes.all {
		c.stripes.all[i].mu.Lock()
	}
	for _, l := range c.sources.open {
		all = append(all, l.statsLocked(now))
	}
	for i := range c.stripes.all {
		c.stripes.all[i].mu.Unlock()
	}
	return all
}
