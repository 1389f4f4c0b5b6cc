package compare_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "k8s.io/client-go/util/workqueue"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	_ "github.com/shardq/shardq" // as users do: the compiler inlines what a direct import exports
	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
)

func BenchmarkCycle(b *testing.B)        { suite.Run(b, "Cycle", compare.All()) }
func BenchmarkClosed(b *testing.B)       { suite.Run(b, "Closed", compare.All()) }
func BenchmarkOpen(b *testing.B)         { suite.Run(b, "Open", compare.All()) }
func BenchmarkAddAfter(b *testing.B)     { suite.Run(b, "AddAfter", compare.All()) }
func BenchmarkDelayedCycle(b *testing.B) { suite.Run(b, "DelayedCycle", compare.All()) }
func BenchmarkLateness(b *testing.B)     { suite.Run(b, "Lateness", compare.All()) }
func BenchmarkMemory(b *testing.B)       { suite.Run(b, "Memory", compare.All()) }
func BenchmarkScaling(b *testing.B)      { suite.Run(b, "Scaling", compare.SideBySide()) }

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
