package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSimulation: without collisions the cores do what they can, with one shard what
// its lock allows, and two waiters that park cost a wake for each hold.
func TestSimulation(t *testing.T) {
	op := operation{work: 100, hold: 100, holds: 1}
	near := func(want, got float64) { t.Helper(); require.InEpsilon(t, want, got, 0.05) }
	near(8*5e6, machine{cores: 8, shards: 1 << 16, spin: 1000}.perSecond(op))
	near(10e6, machine{cores: 8, shards: 1, spin: 1e6}.perSecond(op))
	near(1e9/150, machine{cores: 8, shards: 1, spin: 1e6, move: 57}.perSecond(op)) // now and then a core comes twice
	near(5e6, machine{cores: 2, shards: 1, spin: 0, wake: 1e6}.perSecond(op))      // one goes on alone
	op.holds = 3
	near(2*2.5e6, machine{cores: 2, shards: 1 << 16}.perSecond(op))
}
