package debugpage

import (
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

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
	t.Helper()
	w := ask(h, request("GET", query))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}

// getReport returns the answer as JSON.
func getReport(t *testing.T, h http.Handler, query string) (r report) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(get(t, h, "?format=json"+query)), &r))
	return r
}

func must(t *testing.T, options Options) http.Handler {
	t.Helper()
	h, err := New(options)
	require.NoError(t, err)
	return h
}

func newFake() *clock.Fake {
	return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

// take takes the next item, and fails if Get would block.
func take[T comparable](t *testing.T, q *shardq.Queue[T]) T {
	t.Helper()
	require.NotZero(t, q.Len(), "nothing is ready")
	item, _ := q.Get()
	return item
}

// A broken queue panics in every method except Name.
type broken struct{ shardq.Inspector }

func (broken) Name() string { return "broken" }

// An awkward key has a String method that panics.
type awkward struct{ n int }

func (a awkward) String() string { panic(a.n) }

// An altered queue has another Inspection.
type altered struct {
	shardq.Inspector
	inspection stats.Inspection
}

func (a altered) Inspect() stats.Inspection { return a.inspection }

// A groupsOnly queue has groups, and no other method.
type groupsOnly struct {
	shardq.Inspector
	infos []stats.Group
}

func (g groupsOnly) Groups() iter.Seq[stats.Group] {
	return func(yield func(stats.Group) bool) {
		for _, info := range g.infos {
			if !yield(info) {
				return
			}
		}
	}
}
