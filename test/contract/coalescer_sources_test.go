package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/stats"
)

// A joinSource is a source with a list of all its events.
type joinSource struct {
	*coalesce.Source[any, string]
	events  []joinEvent
	text    string // in Go
	from    int64
	putting bool
	closed  bool
	dropped bool
}

type joinEvent struct {
	offset int64
	value  string // or "" if it was skipped
	at     time.Time
}

func (s *joinSource) next() int64 {
	if len(s.events) == 0 {
		return s.from
	}
	return s.events[len(s.events)-1].offset + 1
}

func (s *joinSource) read(offset int64, value string, at time.Time) {
	s.events = append(s.events, joinEvent{offset, value, at})
}

// open makes a source whose name is that of a closed one.
func (p *joinPlayer) open(name string, from int64) *joinSource {
	text := code("c.sources[%d]", len(p.sources)+len(p.closed))
	p.write("%s, err = c.NewSource(%q, %d)", text, name, from)
	s, err := p.NewSource(name, from)
	if err != nil {
		p.rt.Fatal(err)
	}
	if _, err := p.NewSource(name, from); err == nil {
		p.rt.Fatalf("two sources are %q", name)
	}
	return &joinSource{Source: s, text: text, from: from}
}

// valuesOf returns the values that have merged into one.
func valuesOf(value string) []string {
	return slices.DeleteFunc(strings.SplitAfter(value, "."), isEmpty)
}
func isEmpty(s string) bool { return s == "" }

// drawSource draws a source that may put a value, or nil.
func (p *joinPlayer) drawSource() *joinSource {
	n := rapid.IntRange(0, len(p.sources)).Draw(p.rt, "source")
	if n == 0 || p.sources[n-1].putting || p.function != "" {
		return nil
	}
	return p.sources[n-1]
}

// putFrom puts a value with the next offset, or finds that an earlier one is
// refused.
func (p *joinPlayer) putFrom(s *joinSource, key any, value string, o *coalesce.PutOptions) error {
	offset := s.next() + rapid.Int64Range(-1, 2).Draw(p.rt, "gap")
	if offset < s.next() {
		p.begin("%s.Put(%s, %q, %d)", s.text, goOf(key), value, offset)
		err := s.Put(key, value, offset)
		if p.returned(err); !errors.Is(err, coalesce.ErrOffset) {
			p.rt.Fatalf("offset %d: %v", offset, err)
		}
		offset = s.next()
	}
	s.putting = true
	defer func() { s.putting = false }()
	at, err := p.clock.Now(), error(nil)
	if o != nil {
		p.begin("%s.PutContext(atOnce(), %s, %q, %d, %s)", s.text, goOf(key), value, offset, goOf(*o))
		err = s.PutContext(atOnce(), key, value, offset, *o)
	} else {
		p.begin("%s.Put(%s, %q, %d)", s.text, goOf(key), value, offset)
		err = s.Put(key, value, offset)
	}
	p.returned(err)
	if err == nil {
		s.read(offset, value, at)
		p.from[value] = s
	}
	return err
}

func (p *joinPlayer) callSkip() (joinCall, bool) {
	s := p.drawSource()
	if s == nil {
		return joinCall{}, false
	}
	offset := s.next() + rapid.Int64Range(0, 2).Draw(p.rt, "gap")
	s.putting = true
	p.begin("%s.Skip(%d)", s.text, offset)
	err := s.Skip(offset)
	p.returned(err)
	if s.putting = false; err != nil {
		p.rt.Fatal(err)
	}
	s.read(offset, "", p.clock.Now())
	return joinCall{keys: []any{}, play: noFault}, true
}

// isOnlyOf reports whether a value has nothing but events of a source.
func (p *joinPlayer) isOnlyOf(s *joinSource, value string) bool {
	return value != "" && !slices.ContainsFunc(valuesOf(value), func(v string) bool { return p.from[v] != s })
}

// isDropped reports whether a value does not go back because of a Drop.
func (p *joinPlayer) isDropped(value string) bool {
	return slices.ContainsFunc(valuesOf(value), func(v string) bool {
		s := p.from[v]
		return s != nil && s.dropped && p.isOnlyOf(s, value)
	})
}

// closeSource finishes a source, or drops it if that is not possible at once, and
// opens another one with its name.
func (p *joinPlayer) closeSource(rt *rapid.T) {
	p.rt, p.until = rt, 0
	i := rapid.IntRange(0, len(p.sources)-1).Draw(rt, "source")
	s := p.sources[i]
	finishes, finished := rapid.Bool().Draw(rt, "Finish"), false
	s.closed = true
	if finishes {
		p.begin("%s.Finish(nowait.Ended)", s.text)
		err := s.Finish(nowait.Ended)
		p.returned(err)
		finished = err == nil
		if !s.putting {
			if err := s.Put(p.keys[0], "", s.next()); !p.ShuttingDown() && err != coalesce.ErrSourceClosed {
				rt.Fatalf("put into a closed source: %v", err)
			}
		}
		if !finished { // a Take that waits may get what is ready now
			p.settle(rt, joinCall{keys: []any{}, play: func(m *joinModel) string {
				m.Hurry(func(v string) bool { return p.from[v] == s })
				return ""
			}}, nil)
		}
	}
	dropped, safe := map[any]string{}, s.Safe()
	if s.dropped = !finished; s.dropped {
		p.begin("%s.Drop()", s.text)
		entries := s.Drop()
		p.returned(entries)
		for _, e := range entries {
			dropped[e.Key] += e.Value
			p.gone++
		}
	}
	p.sources[i] = p.open(s.Name(), rapid.Int64Range(-3, 3).Draw(rt, "from"))
	p.closed = append(p.closed, closedSource{s, safe})
	p.settle(rt, joinCall{keys: []any{}, play: func(m *joinModel) string {
		if finishes && finished != (m.oldest(s) == len(s.events)) {
			return "finished too early or too late"
		}
		return m.Drop(func(value string) bool { return !finished && p.isOnlyOf(s, value) }, dropped)
	}}, nil)
}

type closedSource struct {
	*joinSource
	safe int64
}

// Hurry ends the delays of the keys with events of a source.
func (m *joinModel) Hurry(isOf func(value string) bool) { // C86
	for _, k := range m.keys {
		if k.isDelayed() && slices.ContainsFunc(valuesOf(k.pending), isOf) {
			k.makeReady()
		}
	}
}

// Drop drops the pending values that are of one source alone.
func (m *joinModel) Drop(isOnly func(value string) bool, dropped map[any]string) (fault string) { // C86
	for key, k := range m.keys {
		if (dropped[key] != "") != isOnly(k.pending) {
			return fmt.Sprintf("dropped %q of %+v", dropped[key], *k)
		}
		if dropped[key] != "" {
			k.split, k.failures = false, 0
			if fault = k.remove(dropped[key]); fault != "" {
				return fault
			}
		}
	}
	return ""
}

func (m *joinModel) finish(value string) {
	m.done = maps.Clone(m.done)
	for _, v := range valuesOf(value) {
		m.done[v] = true
	}
}

// oldest returns the index of the first event that is not done.
func (m *joinModel) oldest(s *joinSource) int { // C85
	i := slices.IndexFunc(s.events, func(e joinEvent) bool { return e.value != "" && !m.done[e.value] })
	if i < 0 {
		i = len(s.events)
	}
	return i
}

// compareSources compares positions and offsets with the lists of all events.
func (p *joinPlayer) compareSources(m *joinModel) (fault string) { // C85
	want, got := []stats.Source(nil), sourcesOf(p.Coalescer)
	safe := "" // what is wrong with a position
	for _, s := range p.sources {
		i := m.oldest(s)
		one := stats.Source{Name: s.Name(), Read: s.next() - 1, Safe: s.next(), Events: uint64(len(s.events) - i)}
		if i < len(s.events) {
			const unit = 10 * time.Millisecond
			one.Safe, one.Oldest = s.events[i].offset, m.now.Truncate(unit).Sub(s.events[i].at.Truncate(unit))
		}
		want = append(want, one)
		safe += mustEqual(fmt.Sprint(one.Safe), fmt.Sprint(s.Safe()), "fmt.Sprint(%s.Safe())", s.text)
	}
	for _, s := range p.closed {
		safe += mustEqual(fmt.Sprint(s.safe), fmt.Sprint(s.Safe()), "fmt.Sprint(%s.Safe())", s.text)
	}
	if fault = mustEqual(outcome(want), outcome(got), "outcome(sourcesOf(c.Coalescer))"); fault+safe != "" {
		return cmp.Or(fault, safe)
	}
	for key, k := range m.keys {
		got, want := outcome(maps.Collect(p.Offsets(key))), outcome(p.highest(k))
		if fault := mustEqual(want, got, "outcome(maps.Collect(c.Offsets(%s)))", goOf(key)); fault != "" {
			return fault
		}
	}
	return ""
}

// highest returns what Offsets should: one offset for each name (C85).
func (p *joinPlayer) highest(k *joinKey) map[string]int64 { // C85
	highest := map[string]int64{}
	for _, v := range valuesOf(k.taken) {
		if s := p.from[v]; s != nil && !k.left {
			i := slices.IndexFunc(s.events, func(e joinEvent) bool { return e.value == v })
			if earlier, is := highest[s.Name()]; !is || earlier < s.events[i].offset {
				highest[s.Name()] = s.events[i].offset
			}
		}
	}
	return highest
}
