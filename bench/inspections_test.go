package bench_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/observe/debugpage"
	"github.com/shardq/shardq/observe/expvars"
	"github.com/shardq/shardq/stats"
)

// An inspection is a call that reads a queue.
type inspection struct {
	name string
	do   func()
}

// BenchmarkAddBesideInspections measures the longest Add beside each inspection
// of a queue of one shard with 1M items (50k with -short), by the number of
// their groups and of their priorities. Half of the items are ready, a quarter
// is delayed, a quarter is in processing, and the limiter has a history of
// each. It also measures a queue in which all items are delayed, and each has
// its own group.
//
// A goroutine adds to the inspected queue and to an idle twin in turn. Another
// one inspects, with pauses of a millisecond, for 25 ms, or once if that takes
// longer. That is repeated b.N times, with the garbage collector off and then
// on: while it marks, its workers take processors, so that an Add which was
// woken waits for one. The benchmark reports the medians of the longest Adds:
//   - add-µs: of the inspected queue, with the collector off
//   - twin-µs: of the twin, whose locks are free, so that it shows the effect
//     of the scheduler and the machine
//   - collected-µs: of the inspected queue, with the collector on
//   - worst-µs: the longest Add of all, with the collector off
//   - inspection-ms: the mean time of an inspection
func BenchmarkAddBesideInspections(b *testing.B) {
	items, most := 1_000_000, 300_000
	if testing.Short() {
		items, most = 50_000, 15_000
	}
	for _, groups := range []int{0, 1000, items} {
		for _, priorities := range []int{0, 1000, most} {
			b.Run(fmt.Sprintf("items=%s/groups=%s/priorities=%s", suite.Count(items), suite.Count(groups), suite.Count(priorities)),
				func(b *testing.B) {
					benchmarkAddBesideInspections(b, fullQueue(items, 3*items/4, groups, priorities))
				})
		}
	}
	b.Run(fmt.Sprintf("items=%s/all=delayed/groups=%[1]s", suite.Count(items)),
		func(b *testing.B) { benchmarkAddBesideInspections(b, fullQueue(items, 0, items, 0)) })
}

func benchmarkAddBesideInspections(b *testing.B, q *shardq.Queue[tenanted]) {
	defer q.ShutDown()
	twin := shardq.MustNew(shardq.Options[tenanted]{Shards: 1, Metrics: true, RateLimiter: limiter.DefaultItemBased[tenanted]()})
	defer twin.ShutDown()
	for _, l := range inspections(q) {
		b.Run("call="+l.name, func(b *testing.B) {
			beside, elsewhere, took := newLongest(b.N), newLongest(b.N), time.Duration(0)
			collected, unused := newLongest(b.N), newLongest(b.N)
			for range b.N {
				runtime.GC()
				percent := debug.SetGCPercent(-1)
				took += addBeside(q, twin, l.do, beside, elsewhere)
				debug.SetGCPercent(percent)
				addBeside(q, twin, l.do, collected, unused)
			}
			b.ReportMetric(0, "ns/op") // see inspection-ms
			b.ReportMetric(beside.median(), "add-µs")
			b.ReportMetric(elsewhere.median(), "twin-µs")
			b.ReportMetric(collected.median(), "collected-µs")
			b.ReportMetric(beside.worst(), "worst-µs")
			b.ReportMetric(float64(took.Microseconds())/float64(b.N)/1000, "inspection-ms")
		})
	}
}

// fullQueue returns a queue of one shard with some items. The number added
// of them is added without a delay, and a third of those is taken.
func fullQueue(items, added, groups, priorities int) *shardq.Queue[tenanted] {
	rates := limiter.DefaultItemBased[tenanted]()
	options := shardq.Options[tenanted]{Name: "full", Shards: 1, Metrics: true, RateLimiter: rates}
	if groups > 0 {
		options.Group = tenantOf
	}
	q := shardq.MustNew(options)
	all := tenantedItems(items, max(1, groups))
	for i, item := range all {
		with := shardq.AddOptions{}
		if priorities > 0 {
			with.Priority = i * 7919 % priorities
		}
		if i >= added {
			with.After = time.Hour + time.Duration(items-i)*time.Millisecond
		}
		q.AddWith(item, with)
		rates.When(item)
	}
	for range added / 3 {
		_, _ = q.Get()
	}
	return q
}

// inspections returns all calls that read a queue.
func inspections(q *shardq.Queue[tenanted]) []inspection {
	all := func(state stats.State) func() {
		return func() {
			for range q.All(state) {
			}
		}
	}
	page, err := debugpage.New(debugpage.Options{Queues: []shardq.Inspector{q}, MaxRows: 1000})
	must(err)
	variables, err := expvars.Func(q)
	must(err)
	var exported registry.Registry
	must(exported.Add(registry.RowsOf([]shardq.Inspector{q})...))
	return []inspection{
		{"none", func() { time.Sleep(time.Millisecond) }},
		{"Len", func() { q.Len() }},
		{"Configuration", func() { q.Inspect().Configuration() }},
		{"Stats", func() { q.Stats() }},
		{"Snapshot(2)", func() { q.Snapshot(2) }},
		{"Snapshot(1000)", func() { q.Snapshot(1000) }},
		{"All(Ready)", all(stats.Ready)},
		{"All(Processing)", all(stats.Processing)},
		{"All(Delayed)", all(stats.Delayed)},
		{"Groups", func() {
			for range q.Groups() {
			}
		}},
		{"TimeLeft", func() { q.Inspect().TimeLeft() }},
		{"MostRetried(1000)", func() { q.Inspect().MostRetried(1000) }},
		{"page", func() {
			request := httptest.NewRequest(http.MethodGet, "http://localhost/?format=json", nil)
			request.RemoteAddr = "127.0.0.1:1"
			page.ServeHTTP(discard{http.Header{}}, request)
		}},
		{"expvars", func() { _ = variables.String() }},
		// The collectors for Prometheus and OpenTelemetry read this.
		{"scrape", func() {
			for _, r := range exported.Read() {
				series.Groups(&r, 100)
			}
		}},
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// discard is a response that is not read.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (d discard) WriteHeader(status int) {
	if status != http.StatusOK {
		panic(fmt.Sprintf("the page answers %d", status))
	}
}

// besideFor is the time for which an inspection is repeated while Adds are
// measured. betweenInspections is the pause between two. Without it, a short
// inspection such as Len would take the lock again before a blocked Add wakes,
// for up to a millisecond, because of sync.Mutex.
const (
	besideFor          = 25 * time.Millisecond
	betweenInspections = time.Millisecond
)

// addBeside repeats an inspection, and adds meanwhile. It returns the time of
// one inspection.
func addBeside(q, twin *shardq.Queue[tenanted], do func(), beside, elsewhere *longest) time.Duration {
	var stop atomic.Bool
	began, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		onQueue, onTwin := time.Duration(0), time.Duration(0)
		probeAdds(q, &onQueue)
		close(began)
		for onQueue = 0; !stop.Load(); {
			probeAdds(q, &onQueue)
			probeAdds(twin, &onTwin)
		}
		beside.note(onQueue)
		elsewhere.note(onTwin)
	}()
	<-began
	count, took, start := time.Duration(0), time.Duration(0), time.Now()
	for count == 0 || time.Since(start) < besideFor {
		begin := time.Now()
		do()
		took += time.Since(begin)
		count++
		time.Sleep(betweenInspections)
	}
	stop.Store(true)
	<-gone
	return took / count
}

// probeAdds adds once in each of two ways, and records the time if it is the
// longest. AddRateLimited takes the limiter's lock, too.
func probeAdds(q *shardq.Queue[tenanted], longest *time.Duration) {
	begin := time.Now()
	q.Add(tenanted{tenant: "probe", object: -1})
	added := time.Now()
	q.AddRateLimited(tenanted{tenant: "probe", object: -2})
	*longest = max(*longest, added.Sub(begin), time.Since(added))
}

// longest has the longest Add of each repetition, in microseconds.
type longest struct{ all []float64 }

func newLongest(n int) *longest { return &longest{make([]float64, 0, n)} }

func (l *longest) note(d time.Duration) {
	l.all = append(l.all, float64(d.Nanoseconds())/1000)
}

func (l *longest) worst() float64 { return slices.Max(l.all) }

func (l *longest) median() float64 {
	sorted := slices.Sorted(slices.Values(l.all))
	return sorted[len(sorted)/2]
}
