package shard

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/stats"
)

// TestDriverLingersWithoutARate: after a shutdown, the rate is taken away and
// set again. The driver wakes between the two, and finds no rate. It must not
// stop: nothing else opens the gate for the consumer that waits for a token.
func TestDriverLingersWithoutARate(t *testing.T) {
	rate := stats.Rate{PerSecond: 1}
	for name, setRate := range map[string]func(s *Set[int], c *meddlingClock){
		"set while the driver stops its timer": func(s *Set[int], c *meddlingClock) {
			c.at(beforeStop, 1, func() { s.SetRate(rate) })
			c.Step(time.Second)
		},
		"set afterwards": func(s *Set[int], c *meddlingClock) {
			c.Step(time.Second)
			s.SetRate(rate)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newMeddlingClock()
				s := newTestSet(t, Config[int]{Clock: c, Rate: rate})
				for item := range 3 {
					s.Add(item)
				}
				item, _ := s.Get() // the timer is set for the next token
				s.Done(item)
				s.ShutDown()
				s.SetRate(stats.Rate{})
				setRate(s, c)
				expectGetsAtRate(t, s, c)
			})
		})
	}
}

// expectGetsAtRate checks that a consumer gets an item at once, another after a
// second, and then the shutdown.
func expectGetsAtRate(t *testing.T, s *Set[int], c *meddlingClock) {
	t.Helper()
	defer s.SetRate(stats.Rate{}) // so that the consumer leaves after a failure
	gets, left := 0, false
	go func() {
		for item, shutdown := s.Get(); !shutdown; item, shutdown = s.Get() {
			gets++
			s.Done(item)
		}
		left = true
	}()
	if synctest.Wait(); gets != 1 || left {
		t.Fatalf("there were %d Gets at once, and the consumer has left: %t", gets, left)
	}
	c.Step(time.Second)
	if synctest.Wait(); gets != 2 || !left {
		t.Fatalf("there were %d Gets after a second, and the consumer has left: %t", gets, left)
	}
}
