package shard

import (
	"testing"
	"testing/synctest"
)

// TestAgain: an item in processing is made to run once more, also after a shutdown began, and
// wakes a sleeper; another item is not.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{Shards: 2})
		s.Add(1)
		if s.Again(s.HandleOf(1)) || s.Again(Handle{}) {
			t.Fatal("asked for one more run of an item that is not in processing")
		}
		s.Get()
		s.refuse(false) // as a Drain does that awaits what waits
		got := 0
		go func() { got, _ = s.Get() }()
		synctest.Wait()
		for range 2 { // comes to the same as once
			if !s.Again(s.HandleOf(1)) {
				t.Fatal("not in processing")
			}
		}
		checkSet(t, s)
		s.Done(1)
		synctest.Wait()
		if stats := s.Stats(); got != 1 || stats.Added != 2 || stats.Dropped != 0 {
			t.Fatalf("the sleeper got %d: %+v", got, stats)
		}
		s.Done(1)
		s.ShutDown()
	})
}
