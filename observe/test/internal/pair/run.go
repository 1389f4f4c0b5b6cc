package pair

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// Compare plays random sequences. After each step it compares every series of
// client-go's queue in a registry with those that a Collector exports of ours.
func Compare(t *testing.T, theirs prometheus.Gatherer, style shardqprom.Style) {
	const steps = 150
	sequences := uint64(30)
	if testing.Short() {
		sequences = 6
	}
	for seed := range sequences {
		name := fmt.Sprint("sequence-", seed)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compare(t, theirs, style, name, seed, steps) })
		})
	}
}

func compare(t *testing.T, theirs prometheus.Gatherer, style shardqprom.Style, name string, seed uint64, steps int) {
	p := New(name, seed)
	defer p.ShutDown()
	collector, err := shardqprom.NewCollector(shardqprom.Options{Style: style}, p.Ours)
	require.NoError(t, err)
	ours := prometheus.NewPedanticRegistry()
	ours.MustRegister(collector)
	for range steps {
		p.Play(t)
		shown := Series(t, ours, name)
		if len(shown) == 0 { // our queue is closed and has disappeared; client-go's has not
			require.True(t, p.Ours.ShuttingDown())
			require.Zero(t, p.Ours.Stats().Held)
			return
		}
		RequireSame(t, Series(t, theirs, name), shown)
	}
}
