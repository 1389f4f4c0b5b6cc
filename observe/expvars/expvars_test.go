package expvars_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/series/seriestest"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/observe/expvars"
	"github.com/shardq/shardq/stats"
)

func Example() {
	invoices := shardq.MustNew(shardq.Options[string]{Name: "invoices", Shards: 2, Metrics: true})
	if err := expvars.Publish("queues", invoices); err != nil {
		fmt.Println(err)
	}
	invoices.Add("invoice/17")
	var all map[string]shardq.Stats
	_ = json.Unmarshal([]byte(expvar.Get("queues").String()), &all)
	fmt.Println("ready:", all["invoices"].Ready)
	// Output: ready: 1
}

func newQueue(name string) *shardq.Queue[string] {
	return shardq.MustNew(shardq.Options[string]{Name: name, Shards: 3})
}

// TestStatsOfQueues reads all stats, also those of a coalescer. Of a queue that
// panics, or whose time JSON cannot encode, it reads only the error.
func TestStatsOfQueues(t *testing.T) {
	c, err := seriestest.PlayValues("values")
	require.NoError(t, err)
	fake := clock.NewFake(time.Unix(0, 0))
	q := shardq.MustNew(shardq.Options[string]{Name: "q", Clock: fake, Metrics: true})
	q.Add("a")
	_, _ = q.Get()
	fake.Step(2 * time.Second)
	q.Done("a")
	broken := shardq.MustNew(shardq.Options[string]{Name: "broken", RateLimiter: silent{limiter.NewExponential[string](1, 1)}})
	far := shardq.MustNew(shardq.Options[string]{Name: "far", Clock: clock.NewFake(time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC))})
	far.AddAfter("a", time.Hour)
	all, err := expvars.Func(c.Queue(), q.View(), broken, far)
	require.NoError(t, err)
	var shown map[string]struct {
		Error   string `json:"error"`
		Values  *stats.Values
		Metrics struct {
			WorkDuration struct{ Sum, Mean, P50 time.Duration }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(all.String()), &shown), all.String())
	require.Equal(t, &stats.Values{Keys: 2, Weight: 9, Capacity: 5, Put: 6, Merged: 4, OverCapacity: 3}, shown["values"].Values)
	require.Nil(t, shown["q"].Values)
	require.Equal(t, struct{ Sum, Mean, P50 time.Duration }{2 * time.Second, 2 * time.Second, 2 * time.Second}, shown["q"].Metrics.WorkDuration)
	require.Equal(t, "no size", shown["broken"].Error)
	require.Contains(t, shown["far"].Error, "year")
}

// A silent limiter does not report its size.
type silent struct{ limiter.Limiter[string] }

func (silent) Len() int                                { panic("no size") }
func (silent) MostFailed(int) []limiter.Failed[string] { return nil }

func TestNamesMustDiffer(t *testing.T) {
	a := newQueue("same")
	_, err := expvars.Func(a, newQueue("same"))
	require.EqualError(t, err, `expvars: two queues have the name "same"`)
	_, err = expvars.Func(nil)
	require.Error(t, err)
	_, err = expvars.Func(newQueue("\xff"))
	require.Error(t, err)
	require.Error(t, expvars.Publish("differ", a, a))
	require.Nil(t, expvar.Get("differ"), "nothing was published")
}

// TestOneOfManyGetsTheName checks that one call succeeds, the others return an
// error, and none panics.
func TestOneOfManyGetsTheName(t *testing.T) {
	a := newQueue("a")
	for n := range 1000 {
		name := fmt.Sprint("wanted by many ", n)
		var published atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if expvars.Publish(name, a) == nil {
					published.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, published.Load())
		require.EqualError(t, expvars.Publish(name, a), fmt.Sprintf("expvars: the name %q is published already", name))
	}
}
