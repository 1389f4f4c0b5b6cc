package shard

import (
	"testing"
	"testing/synctest"
)

// parkingSets runs a test with one shard, which has no ready bit, and with
// several.
func parkingSets(t *testing.T, test func(t *testing.T, s *Set[int])) {
	for _, shards := range []int{1, 4, 100} {
		synctest.Test(t, func(t *testing.T) {
			test(t, newTestSet(t, Config[int]{Settings: Settings{Shards: shards}}))
		})
	}
}

// TestPassOn: the searching consumer passes the token on if there is something
// left for another parked consumer, and only then.
func TestPassOn(t *testing.T) {
	for _, test := range []struct {
		name             string
		parked           int32
		ready, shut, out bool
	}{
		{"an item and a parked consumer", 1, true, false, true},
		{"an item and no parked consumer", 0, true, false, false},
		{"no item and a parked consumer", 1, false, false, false},
		{"a shutdown and a parked consumer", 1, false, true, true},
		{"a shutdown and no parked consumer", 0, false, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			parkingSets(t, func(t *testing.T, s *Set[int]) {
				if test.ready {
					s.Add(7)
				}
				s.Core.closing.complete.Store(test.shut)
				p := &s.Core.parker
				p.Announce() // as one that is woken, and searches
				p.Wake()
				p.Block(nil)
				p.Withdraw()
				for range test.parked {
					p.Announce()
				}
				s.Core.passOn()
				if out := p.WokenPending(); out != test.out {
					t.Fatalf("the token was passed on: %v", out)
				}
			})
		})
	}
}
