package values

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// TestNoValueIsLost plays some rounds.
func TestNoValueIsLost(t *testing.T) {
	var sum tally
	for seed := range uint64(300) {
		one, err := play(Draw(seed), time.Minute, newCoalescer)
		require.NoError(t, err, "seed %d", seed)
		sum.add(one)
	}
	for what, n := range map[string]uint64{
		"accepted": sum.accepted, "refused": sum.refused, "taken": sum.takes,
		"returned": sum.returned, "panics": sum.panics, "dropped": sum.dropped,
		"discarded": sum.discarded, "canceled": sum.canceled,
	} {
		assert.NotZero(t, n, "nothing was %s", what)
	}
	t.Logf("%+v", sum)
}

// A saboteur has one fault.
type saboteur struct{ target }

// saboteurs must each be found by some round, or the program proves nothing.
var saboteurs = map[string]func(target) target{
	"loses a value":           func(t target) target { return &loser{saboteur: saboteur{t}} },
	"puts a value twice":      func(t target) target { return &doubler{saboteur{t}} },
	"accepts and fails":       func(t target) target { return &failer{saboteur{t}} },
	"puts back behind":        func(t target) target { return &behind{saboteur{t}} },
	"done while taken":        func(t target) target { return &early{saboteur{t}} },
	"forgets what it drops":   func(t target) target { return &dropper{saboteur{t}} },
	"OnDiscard is not called": func(t target) target { return &silent{saboteur{t}} },
	"ignores the capacity":    func(t target) target { return &overfiller{saboteur{t}} },
	"a cancel keeps a part":   func(t target) target { return &keeper{saboteur{t}} },
	"a delay drops the value": func(t target) target { return &delayer{saboteur{t}} },
}

type loser struct {
	saboteur
}

func (s *loser) Take(ctx context.Context) (int, value, error) {
	key, v, err := s.target.Take(ctx)
	if len(v) > 2 {
		v = v[1:]
	}
	return key, v, err
}

type doubler struct{ saboteur }

func (s *doubler) Put(key int, v value) error {
	if v[0].n%32 == 31 {
		_ = s.target.Put(key, v)
	}
	return s.target.Put(key, v)
}

type failer struct{ saboteur }

func (s *failer) TryPut(key int, v value) error {
	if err := s.target.TryPut(key, v); err != nil {
		return err
	}
	if v[0].n%32 == 31 {
		return shardq.ErrFull
	}
	return nil
}

type behind struct{ saboteur }

func (s *behind) PutBack(key int, v value) (err error) {
	defer func() {
		if recover() != nil { // Merge has panicked, and the value is not in
			err = s.target.PutBack(key, v)
		}
	}()
	if err := s.target.Put(key, v); err != nil {
		return err
	}
	s.target.Done(key)
	return nil
}

type early struct{ saboteur }

func (s *early) Take(ctx context.Context) (int, value, error) {
	key, v, err := s.target.Take(ctx)
	if err == nil {
		s.target.Done(key)
	}
	return key, v, err
}

type dropper struct{ saboteur }

func (s *dropper) Drain(ctx context.Context, o shardq.DrainOptions) ([]coalesce.Entry[int, value], error) {
	_, err := s.target.Drain(ctx, o)
	return nil, err
}

type silent struct{ saboteur }

func (s *silent) NewPool(o worker.Options[pair]) (*worker.Pool[pair], error) {
	o.OnDiscard = nil
	return s.target.NewPool(o)
}

type overfiller struct{ saboteur }

func (s *overfiller) TryPut(key int, v value) error { return s.target.Put(key, v) }

type keeper struct{ saboteur }

func (s *keeper) Cancel(key int) (value, bool) {
	v, ok := s.target.Cancel(key)
	return v[:len(v)/2], ok
}

type delayer struct{ saboteur }

func (s *delayer) PutWith(key int, v value, o coalesce.PutOptions) error {
	if v[0].n%32 == 31 {
		return nil
	}
	return s.target.PutWith(key, v, o)
}

// TestSaboteursAreFound checks that one of several rounds finds each fault.
func TestSaboteursAreFound(t *testing.T) {
	for name, spoil := range saboteurs {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2000) {
				_, err := play(Draw(seed), time.Minute, func(o coalesce.Options[int, value]) target { return spoil(newCoalescer(o)) })
				if err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("no round found the fault")
		})
	}
}
