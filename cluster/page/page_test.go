package page_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/page"
)

// A reader returns a status, or an error.
type reader struct {
	status cluster.Status
	err    error
}

func (r reader) Status(context.Context) (cluster.Status, error) { return r.status, r.err }

func get(r reader, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	page.Handler(r).ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

func status() cluster.Status {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	return cluster.Status{
		Name: "invoices", Pending: 3, Delayed: 2, Dead: 1, Skew: cluster.Skew{By: 2 * time.Second, Ahead: "n1", Behind: "n2"},
		Members: []cluster.Member{{
			ID: "node-000001", Host: "a.example.com", PID: 17, Time: ago(time.Second),
			Oldest: []cluster.InFlight{{Key: "<slow>", Partition: 1, Began: ago(5 * time.Minute)}},
		}},
		Partitions: []cluster.PartitionStatus{
			{Partition: 0},
			{Partition: 1, Owner: "node-000001", Epoch: 9, PartitionState: cluster.PartitionState{State: cluster.Open}, Pending: 3, Taken: 1, OldestKey: "<slow>", OldestAdded: ago(3 * time.Hour)},
		},
	}
}

func TestThePageShowsWhatIsStuck(t *testing.T) {
	w := get(reader{status: status()}, "/")
	require.Equal(t, 200, w.Code)
	text := w.Body.String()
	for _, part := range []string{
		"<h1>invoices</h1>", "No node reads 1 of the partitions.", "server n1 is 2s ahead of that of n2", "was added 3 h ago: <code>&lt;slow&gt;</code>, in partition 1",
		"began 5 min ago: <code>&lt;slow&gt;</code>, on a.example.com, process 17, node 000001",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "<slow>")
}

func TestThePageAsJSON(t *testing.T) {
	w := get(reader{status: status()}, "/?format=json")
	var got cluster.Status
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "a.example.com", got.Members[0].Host)
	require.EqualValues(t, 9, got.Partitions[1].Epoch)
}

func TestServersThatDoNotAnswer(t *testing.T) {
	w := get(reader{err: errors.New("no servers")}, "/")
	require.Equal(t, 503, w.Code)
	require.Contains(t, w.Body.String(), "no servers")
	w = httptest.NewRecorder()
	page.Handler(reader{}).ServeHTTP(w, httptest.NewRequest("POST", "/", nil))
	require.Equal(t, 405, w.Code)
	require.Equal(t, 200, get(reader{}, "/").Code, "an empty queue")
}
