package shard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// fewIDs is the number of ids in these tests.
const fewIDs = 1024

// fullSet returns a set whose one shard holds as many items as it can, from 0
// on.
func fullSet(t tester, config Config[int]) *Set[int] {
	s := newTestSet(t, config)
	s.Core.ids.most = fewIDs
	for item := range fewIDs - 1 {
		s.Add(item)
	}
	return s
}

// refusal returns what an add of a new item panics with or returns.
func refusal(add func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = panicked.(error)
		}
	}()
	return add()
}

// TestC40FullShard: each way to add refuses one item more before it changes
// anything, until another item is gone.
func TestC40FullShard(t *testing.T) {
	configs := map[string]Config[int]{
		"plain":    {},
		"capacity": {Settings: Settings{Capacity: 10 * fewIDs}},
		"measured": {Settings: Settings{Ages: true, Metrics: true}},
		"groups":   {Group: func(item int) string { return fmt.Sprint(item) }},
	}
	for name, config := range configs {
		for way, add := range map[string]func(s *Set[int], item int) error{
			"Add":        func(s *Set[int], item int) error { s.Add(item); return nil },
			"AddBatch":   func(s *Set[int], item int) error { s.AddBatch([]int{item}, Delay{}); return nil },
			"AddAfter":   func(s *Set[int], item int) error { s.AddAfter(item, time.Second); return nil },
			"priority":   func(s *Set[int], item int) error { s.AddWith(item, Delay{Priority: 5}); return nil },
			"both":       func(s *Set[int], item int) error { s.AddWith(item, Delay{Duration: 1, Priority: 5}); return nil },
			"TryAdd":     func(s *Set[int], item int) error { return s.TryAdd(item, Delay{}) },
			"AddContext": func(s *Set[int], item int) error { return s.AddContext(context.Background(), item, Delay{}) },
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				s := fullSet(t, config)
				before := counts(s.Core.Stats())
				const item = fewIDs // of a group of its own
				for range 2 {
					if err := refusal(func() error { return add(s, item) }); !errors.Is(err, ErrFull) {
						t.Fatalf("refused with %v", err)
					}
				}
				if after := counts(s.Core.Stats()); !equalCounts(before, after) {
					t.Errorf("%+v\nbefore, and afterwards\n%+v", before, after)
				}
				checkSet(t, s)
				if err := add(s, 7); err != nil {
					t.Errorf("an item that is held: %v", err)
				}
				s.Cancel(8)
				if err := add(s, item); err != nil {
					t.Errorf("after another one is gone: %v", err)
				}
				if held := s.Core.Stats().Held; held != fewIDs-1 {
					t.Errorf("%d are held", held)
				}
				checkSet(t, s)
			})
		}
	}
}

func equalCounts(a, b Stats) bool { return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b) }
