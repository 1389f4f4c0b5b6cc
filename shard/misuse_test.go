package shard

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/shardq/shardq/stats"
)

type hookCall struct {
	kind Misuse
	item any
}

// misused returns a set that records the calls of its misuse hook.
func misused(t *testing.T) (s *Set[any], all *[]hookCall) {
	all = &[]hookCall{}
	return newTestSet(t, Config[any]{Shards: 3, OnMisuse: func(kind Misuse, item any) {
		for i := range s.shards {
			if !s.shard(i).mu.TryLock() {
				t.Errorf("the hook runs under the lock of shard %d", i)
				continue
			}
			s.shard(i).mu.Unlock()
		}
		*all = append(*all, hookCall{kind, item})
	}}), all
}

// TestItemNotEqualToItself: such an item is rejected, whichever way it is
// added, and leaves nothing.
func TestItemNotEqualToItself(t *testing.T) {
	var all []hookCall
	s := newTestSet(t, Config[float64]{Shards: 3, OnMisuse: func(kind Misuse, item float64) {
		all = append(all, hookCall{kind, math.IsNaN(item)})
	}})
	nan := math.NaN()
	s.Add(nan)
	s.AddAfter(nan, time.Hour)
	s.AddAfter(nan, 0)
	s.Done(nan)
	rejected := hookCall{stats.ItemNotEqualToItself, true}
	if want := []hookCall{rejected, rejected, rejected, {stats.DoneWithoutGet, true}}; !slices.Equal(all, want) {
		t.Errorf("the hook was called with %v, not %v", all, want)
	}
	if st, want := s.Stats(), (Stats{Shards: 3, Rejected: 3, Misused: 1}); !reflect.DeepEqual(counts(st), want) {
		t.Errorf("%+v", st)
	}
	checkSet(t, s)
}

// TestUnhashable: such an item panics in the caller's goroutine, before
// anything is changed.
func TestUnhashable(t *testing.T) {
	s, all := misused(t)
	item := any([]int{1})
	for name, call := range map[string]func(){
		"Add": func() { s.Add(item) }, "AddAfter": func() { s.AddAfter(item, time.Hour) }, "Done": func() { s.Done(item) },
	} {
		if panicOf(call) == nil {
			t.Errorf("%s does not panic", name)
		}
	}
	if st := counts(s.Stats()); !reflect.DeepEqual(st, Stats{Shards: 3}) || len(*all) > 0 {
		t.Errorf("%+v, %v", st, *all)
	}
	s.Add("hashable")
	checkSet(t, s)
}

// TestDoneWithoutGet: it has no effect in any phase (C15).
func TestDoneWithoutGet(t *testing.T) {
	s, all := misused(t)
	s.Done("unknown")
	s.Add("ready")
	s.Done("ready")
	s.AddAfter("delayed", time.Hour)
	s.Done("delayed")
	item, _ := s.Get()
	s.Done(item)
	s.Done(item)
	want := []hookCall{{stats.DoneWithoutGet, "unknown"}, {stats.DoneWithoutGet, "ready"}, {stats.DoneWithoutGet, "delayed"}, {stats.DoneWithoutGet, "ready"}}
	if !slices.Equal(*all, want) {
		t.Errorf("the hook was called with %v, not %v", *all, want)
	}
	if st := s.Stats(); st.Misused != 4 || st.Delayed != 1 || st.Ready+st.Processing > 0 {
		t.Errorf("%+v", st)
	}
	checkSet(t, s)
}

// TestMisuseHookPanics: the panic reaches the caller, and the queue goes on.
func TestMisuseHookPanics(t *testing.T) {
	s := newTestSet(t, Config[int]{OnMisuse: func(Misuse, int) { panic("hook") }})
	s.Add(1)
	if got := panicOf(func() { s.Done(1) }); got != "hook" {
		t.Errorf("panicked with %v", got)
	}
	item, _ := s.Get()
	s.Done(item)
	checkSet(t, s)
}

// TestMisuseNames: the names are for logs.
func TestMisuseNames(t *testing.T) {
	for kind, want := range map[Misuse]string{
		stats.DoneWithoutGet:       "Done without Get",
		stats.ItemNotEqualToItself: "item not equal to itself",
		0:                          "Misuse(0)",
		200:                        "Misuse(200)",
	} {
		if got := kind.String(); got != want {
			t.Errorf("%d is %q, not %q", uint8(kind), got, want)
		}
	}
}

// TestSpecialItems: zero values, and values that are equal although they look
// different (C9).
func TestSpecialItems(t *testing.T) {
	s, _ := misused(t)
	zero := 0.0
	for _, item := range []any{nil, "", 0, int64(0), zero, -zero, math.Copysign(0, -1), [0]int{}, struct{}{}, (*int)(nil)} {
		s.Add(item)
	}
	if n := s.Len(); n != 8 { // the three floating-point zeros are one item
		t.Errorf("%d items are ready: %v", n, allReady(t, s))
	}
	checkSet(t, s)
}
