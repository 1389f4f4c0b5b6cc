package traces

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// A layout is a number of shards and a clock with which a scenario is replayed.
type layout struct {
	shards int
	real   bool // the real clock, in a bubble
}

func (l layout) String() string {
	clock := "fake"
	if l.real {
		clock = "real"
	}
	return fmt.Sprintf("shards=%d/clock=%s", l.shards, clock)
}

func (l layout) timeline() timeline {
	if l.real {
		return realTimeline{}
	}
	return newFakeTimeline()
}

// layouts returns the layouts of a scenario.
func (s *scenario) layouts() []layout {
	var layouts []layout
	for _, shards := range s.settings.shards {
		layouts = append(layouts, layout{shards: shards})
		if !slices.ContainsFunc(s.commands, (*line).needsFakeClock) {
			layouts = append(layouts, layout{shards: shards, real: true})
		}
	}
	return layouts
}

// replay carries out the scenario in a bubble, and returns the outcome of each
// command. The error is about the scenario, not about the queue.
func (s *scenario) replay(t *testing.T, l layout) (outcomes []outcome, err error) {
	synctest.Test(t, func(*testing.T) {
		p := newPlayer(s, l)
		number := s.number
		if p.fault == nil {
			defer p.finish()
		}
		for _, line := range s.commands {
			if p.fault != nil {
				break
			}
			number = line.number
			outcomes = append(outcomes, p.carryOut(line.command))
		}
		if p.fault != nil {
			err = fmt.Errorf("%s:%d: %w", s.file, number, p.fault)
		}
	})
	return outcomes, err
}
