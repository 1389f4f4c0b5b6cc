package shard

import (
	"testing"
	"testing/synctest"
)

// TestAgain: an item in processing runs once more, also after a shutdown began,
// and a parked consumer is woken for it. Another item does not run again.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSet(t, Config[int]{Shards: 2})
		s.Add(1)
		if s.Again(s.HandleOf(1)) || s.Again(Handle{}) {
			t.Fatal("asked for one more run of an item that is not in processing")
		}
		s.Get()
		s.refuse(false) // as a Drain with AwaitDelayed does
		got := 0
		go func() { got, _ = s.Get() }()
		synctest.Wait()
		for range 2 { // two calls have the effect of one
			if !s.Again(s.HandleOf(1)) {
				t.Fatal("not in processing")
			}
		}
		checkSet(t, s)
		s.Done(1)
		synctest.Wait()
		if st := s.Stats(); got != 1 || st.Added != 2 || st.Dropped != 0 {
			t.Fatalf("the parked consumer got %d: %+v", got, st)
		}
		s.Done(1)
		s.ShutDown()
	})
}
