package debugpage

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// TestMain fails if a goroutine is left after all tests. It takes both first
// readings at once: TestFirstLook sets the time between them.
func TestMain(m *testing.M) {
	firstLook = 0
	goleak.VerifyTestMain(m)
}

// request returns a request from this machine.
func request(method, query string) *http.Request {
	r := httptest.NewRequest(method, "/debug/queues"+query, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost:6060"
	return r
}

// ask returns the answer of a handler to a request.
func ask(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get returns the answer of a handler to a GET, which must succeed.
func get(t *testing.T, h http.Handler, query string) string {
	w := ask(h, request("GET", query))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}

// getReport returns the answer as JSON, and getQueue that about the first
// queue.
func getReport(t *testing.T, h http.Handler, query string) (r report) {
	require.NoError(t, json.Unmarshal([]byte(get(t, h, "?format=json"+query)), &r))
	return r
}

func getQueue(t *testing.T, h http.Handler, query string) queueReport {
	return getReport(t, h, query).Queues[0]
}

// column returns a value of each row.
func column(rows []entry, name string) (values []any) {
	for _, e := range rows {
		values = append(values, e[name])
	}
	return values
}

func must(t *testing.T, options Options) http.Handler {
	h, err := New(options)
	require.NoError(t, err)
	return h
}

func newFake() *clock.Fake { return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) }

// newQueue returns a queue of strings.
func newQueue(name string) *shardq.Queue[string] {
	return shardq.MustNew(shardq.Options[string]{Name: name, Shards: 1})
}

// take takes the next item, and fails if Get would block.
func take[T comparable](t *testing.T, q *shardq.Queue[T]) T {
	require.NotZero(t, q.Len(), "nothing is ready")
	item, _ := q.Get()
	return item
}

// A broken queue panics in every method except Name.
type broken struct{ shardq.Inspector }

func (broken) Name() string { return "broken" }

// A listed queue lists other items than it has, of any type. The last is
// delayed, so that a search visits it last.
type listed struct {
	stats.Inspection
	items   []any
	visited *int
}

// An inspected queue has another Inspection than its own.
type inspected struct {
	shardq.Inspector
	with stats.Inspection
}

func (i inspected) Inspect() stats.Inspection { return i.with }

func newListed(items ...any) (queue shardq.Inspector, visited *int) {
	q := newQueue("q")
	l := listed{q.Inspect(), items, new(int)}
	return inspected{q, l}, l.visited
}

func (l listed) Configuration() stats.Configuration {
	first := reflect.TypeOf(l.items[0])
	for _, item := range l.items {
		if reflect.TypeOf(item) != first {
			return stats.Configuration{Item: "interface {}"}
		}
	}
	return stats.Configuration{Item: first.String()}
}

func (l listed) All(state stats.State) iter.Seq[stats.Item[any]] {
	return func(yield func(stats.Item[any]) bool) {
		for i, item := range l.items {
			of := stats.Ready
			if i == len(l.items)-1 {
				of = stats.Delayed
			}
			if of != state {
				continue
			}
			if *l.visited++; !yield(stats.Item[any]{Item: item, State: state}) {
				return
			}
		}
	}
}

func (l listed) Lookup(item any) (stats.Item[any], bool) {
	for _, one := range l.items {
		if one == item {
			return stats.Item[any]{Item: item}, true
		}
	}
	return stats.Item[any]{}, false
}
