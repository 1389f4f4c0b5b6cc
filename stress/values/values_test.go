package values

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// TestNoValueIsLost plays some rounds, in which everything happens.
func TestNoValueIsLost(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(300) {
		r := play(Draw(seed), time.Minute, func(*target) {})
		require.NoError(t, r.found.Err(), "seed %d", seed)
		for what, n := range r.seen {
			seen[what] += n
		}
	}
	for _, what := range []string{"refusal", "return", "panic", "drop", "cancel", "discard"} {
		assert.NotZero(t, seen[what], what)
	}
}

// rare reports whether a saboteur spoils a value.
func rare(v value) bool { return v[0].n%32 == 31 }

// saboteurs must each be found by some round, or the rounds prove nothing.
var saboteurs = map[string]func(*target){
	"a take loses a value": func(t *target) {
		t.Take = func(ctx context.Context) (int, value, error) {
			key, v, err := t.Coalescer.Take(ctx)
			return key, v[min(len(v), 1):], err
		}
	},
	"a put is doubled": func(t *target) {
		t.Put = func(key int, v value) error {
			if rare(v) {
				_ = t.Coalescer.Put(key, v)
			}
			return t.Coalescer.Put(key, v)
		}
	},
	"a value goes back behind others": func(t *target) {
		t.PutBack = func(key int, v value) (err error) {
			defer func() {
				if recover() != nil { // Merge has panicked, and the value is not in
					err = t.Coalescer.PutBack(key, v)
				}
			}()
			if err := t.Coalescer.Put(key, v); err != nil {
				return err
			}
			t.Done(key)
			return nil
		}
	},
	"a turn ends early": func(t *target) {
		t.Take = func(ctx context.Context) (int, value, error) {
			key, v, err := t.Coalescer.Take(ctx)
			if err == nil {
				t.Done(key)
			}
			return key, v, err
		}
	},
	"a drain forgets what it drops": func(t *target) {
		t.Drain = func(ctx context.Context, o shardq.DrainOptions) ([]pair, error) {
			_, err := t.Coalescer.Drain(ctx, o)
			return nil, err
		}
	},
	"a discard is not told":   func(t *target) { t.onDiscard = nil },
	"the capacity is ignored": func(t *target) { t.TryPut = t.Coalescer.PutWith },
}

func TestSaboteursAreFound(t *testing.T) {
	for name, spoil := range saboteurs {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(1000) {
				if err := play(Draw(seed), time.Minute, spoil).found.Err(); err != nil {
					t.Logf("seed %d: %.200v", seed, err)
					return
				}
			}
			t.Error("no round found the fault")
		})
	}
}
