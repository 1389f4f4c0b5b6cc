package compare_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/workload"
)

func TestEveryEngineCarriesTraffic(t *testing.T) {
	const items = 2000
	keys := workload.Strings(1024)
	for _, e := range compare.All() {
		t.Run(e.Name, func(t *testing.T) {
			closed := workload.Closed(e.New(), keys, workload.Load{Producers: 2, Consumers: 2, Items: items})
			require.GreaterOrEqual(t, closed.Completed, items)
			q := e.New().(workload.DelayingQueue)
			require.Positive(t, workload.DelayedCycle(q, keys, workload.Delays(len(keys), 5*time.Millisecond), 2))
		})
	}
}
