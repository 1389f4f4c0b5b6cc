package expvars_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"net/http/httptest"
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

// TestThePageHasTheStats reads them as a client of /debug/vars does.
func TestThePageHasTheStats(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	q := shardq.MustNew(shardq.Options[string]{Name: "page", Shards: 1, Clock: fake, Metrics: true})
	plain := shardq.MustNew(shardq.Options[int]{Name: "plain", Shards: 1})
	require.NoError(t, expvars.Publish("page", q, plain))
	q.AddBatch([]string{"a", "b"}, shardq.AddOptions{})
	_, _ = q.Get()
	fake.Step(2 * time.Second)
	q.Done("a")
	q.AddAfter("c", time.Minute)

	recorder := httptest.NewRecorder()
	expvar.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/debug/vars", nil))
	var page struct {
		Page struct {
			Page struct {
				Ready, Delayed int
				NextDue        time.Time
				PerShard       []struct{ OldestReady time.Duration }
				Metrics        struct {
					Retries      int
					WorkDuration struct {
						Count                    int
						Sum, Mean, P50, P90, P99 time.Duration
						Buckets                  []struct {
							AtMost time.Duration
							Count  int
						}
					}
				}
			}
			Plain map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &page), recorder.Body)
	got := page.Page.Page
	require.Equal(t, 1, got.Ready)
	require.Equal(t, 1, got.Delayed)
	require.Equal(t, 1, got.Metrics.Retries)
	require.True(t, got.NextDue.Equal(time.Unix(62, 0)))
	require.Equal(t, 2*time.Second, got.PerShard[0].OldestReady)
	work := got.Metrics.WorkDuration
	require.Equal(t, 1, work.Count)
	require.Equal(t, 2*time.Second, work.Sum)
	require.Equal(t, 2*time.Second, work.Mean)
	require.Equal(t, []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}, []time.Duration{work.P50, work.P90, work.P99})
	require.Len(t, work.Buckets, 1)
	require.Nil(t, page.Page.Plain["Metrics"])
}

func TestNamesMustDiffer(t *testing.T) {
	a := shardq.MustNew(shardq.Options[string]{Name: "same"})
	_, err := expvars.Func(a, shardq.MustNew(shardq.Options[int]{Name: "same"}))
	require.EqualError(t, err, `expvars: two queues have the name "same"`)
	_, err = expvars.Func(nil)
	require.Error(t, err)
	require.Error(t, expvars.Publish("differ", a, a))
	require.Nil(t, expvar.Get("differ"), "nothing was published")
	require.NoError(t, expvars.Publish("taken", a))
	require.EqualError(t, expvars.Publish("taken", a), `expvars: the name "taken" is published already`)
}

// A rival publishes another variable under the wanted name when it is asked for
// its own name.
type rival struct {
	shardq.Inspector
	meanwhile func()
}

func (r rival) Name() string {
	r.meanwhile()
	return r.Inspector.Name()
}

// TestNameThatIsTakenMeanwhile checks that Publish returns an error.
func TestNameThatIsTakenMeanwhile(t *testing.T) {
	a := shardq.MustNew(shardq.Options[string]{Name: "a"})
	late := rival{a, sync.OnceFunc(func() { require.NoError(t, expvars.Publish("wanted", a)) })}
	require.EqualError(t, expvars.Publish("wanted", late), `expvars: the name "wanted" is published already`)
}

// TestOneOfManyGetsTheName checks that one call succeeds, and no goroutine
// panics.
func TestOneOfManyGetsTheName(t *testing.T) {
	a := shardq.MustNew(shardq.Options[string]{Name: "a"})
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
	}
}

// TestAPublishedCoalescer checks that the stats have the pending values.
func TestAPublishedCoalescer(t *testing.T) {
	c, err := seriestest.PlayValues("values")
	require.NoError(t, err)
	all, err := expvars.Func(c.Queue(), shardq.MustNew(shardq.Options[string]{Name: "plain"}))
	require.NoError(t, err)
	var shown map[string]shardq.Stats
	require.NoError(t, json.Unmarshal([]byte(all.String()), &shown))
	require.Equal(t, &stats.Values{Keys: 2, Weight: 9, Capacity: 5, Put: 6, Merged: 4, OverCapacity: 3}, shown["values"].Values)
	require.Nil(t, shown["plain"].Values)
}

// A silent limiter does not report its size.
type silent struct{ limiter.Limiter[string] }

func (silent) Len() int                                { panic("no size") }
func (silent) MostFailed(int) []limiter.Failed[string] { return nil }

// TestAQueueThatPanicsLeavesTheOthers also covers a clock whose time JSON
// cannot encode.
func TestAQueueThatPanicsLeavesTheOthers(t *testing.T) {
	broken := shardq.MustNew(shardq.Options[string]{Name: "broken", RateLimiter: silent{limiter.NewExponential[string](1, 1)}})
	far := shardq.MustNew(shardq.Options[string]{Name: "far", Clock: clock.NewFake(time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC))})
	far.AddAfter("a", time.Hour)
	all, err := expvars.Func(broken, far, shardq.MustNew(shardq.Options[string]{Name: "well", Shards: 3}))
	require.NoError(t, err)
	var shown map[string]struct {
		Error  string `json:"error"`
		Shards int
	}
	require.NoError(t, json.Unmarshal([]byte(all.String()), &shown), all.String())
	require.Equal(t, "no size", shown["broken"].Error)
	require.Contains(t, shown["far"].Error, "year")
	require.Equal(t, 3, shown["well"].Shards)
	_, err = expvars.Func(shardq.MustNew(shardq.Options[string]{Name: "\xff"}))
	require.Error(t, err)
}
