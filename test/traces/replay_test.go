package traces

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// A layout is a number of shards and a clock with which a scenario is replayed.
type layout struct {
	shards int
	real   bool // the real clock, in a bubble
	// spoil puts a fault into the queue, unless it is nil: see spoiled_test.go.
	spoil func(namedQueue) namedQueue
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
		if !s.has((*command).needsFakeClock) {
			layouts = append(layouts, layout{shards: shards, real: true})
		}
	}
	return layouts
}

// replay carries out the whole scenario, and returns the outcome of each
// command. The error is about the scenario, not about the queue.
func (s *scenario) replay(t *testing.T, l layout) ([]outcome, error) {
	outcomes, err := s.play(t, l, len(s.commands), nil)
	if err != nil {
		return nil, err
	}
	for i, line := range s.commands {
		if line.command.verb != "state" {
			continue
		}
		before, err := s.play(t, l, i, func(p *player) { outcomes[i] = p.inspect().outcome() })
		if err != nil {
			return nil, err
		}
		if err := s.compareRuns(l, outcomes, before); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// play carries out the first n commands in a bubble of its own, without states.
// If inspect is not nil, play calls it at the end.
func (s *scenario) play(t *testing.T, l layout, n int, inspect func(p *player)) (outcomes []outcome, err error) {
	synctest.Test(t, func(*testing.T) {
		p := newPlayer(s, l)
		if p.fault != nil {
			err = fmt.Errorf("%s:%d: %w", s.file, s.number, p.fault)
			return
		}
		defer p.finish()
		outcomes, err = s.playOn(p, n)
		if err == nil && inspect != nil {
			inspect(p)
		}
	})
	return outcomes, err
}

func (s *scenario) playOn(p *player, n int) ([]outcome, error) {
	var outcomes []outcome
	for _, line := range s.commands[:n] {
		var result outcome
		if line.command.verb != "state" {
			result = p.carryOut(line.command)
		}
		if p.fault != nil {
			return nil, fmt.Errorf("%s:%d: %w", s.file, line.number, p.fault)
		}
		outcomes = append(outcomes, result)
	}
	return outcomes, nil
}

// compareRuns returns an error if the same commands had different outcomes in
// two runs, because a trace must not depend on chance.
func (s *scenario) compareRuns(l layout, outcomes, again []outcome) error {
	for i := range again {
		line := s.commands[i]
		if line.command.verb != "state" && !s.same(l, line.command, outcomes[i], again[i]) {
			return fmt.Errorf("%s:%d: depends on chance: %q in one run, %q in another",
				s.file, line.number, outcomes[i], again[i])
		}
	}
	return nil
}
