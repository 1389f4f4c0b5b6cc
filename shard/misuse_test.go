package shard

import (
	"testing"
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
