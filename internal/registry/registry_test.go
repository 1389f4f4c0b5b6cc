package registry_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/stats"
)

func newQueue(name string) *shardq.Queue[string] {
	return shardq.MustNew(shardq.Options[string]{Name: name, Shards: 1, Metrics: true})
}

func add(r *registry.Registry, queues ...shardq.Inspector) error {
	return r.Add(registry.RowsOf(queues)...)
}

func names(r *registry.Registry) (names []string) {
	for _, reading := range r.Read() {
		names = append(names, reading.Name)
	}
	slices.Sort(names)
	return names
}

func TestAllOrNone(t *testing.T) {
	var r registry.Registry
	require.NoError(t, add(&r, newQueue("a")))
	require.Error(t, add(&r, newQueue("b"), newQueue("a")))
	require.Error(t, add(&r, newQueue("b"), newQueue("b")))
	require.Error(t, add(&r, newQueue("b"), nil))
	require.Equal(t, []string{"a"}, names(&r))
	require.Nil(t, r.Read()[0].Groups(3), "it has no groups")
	require.True(t, r.Remove("a"))
	require.False(t, r.Remove("a"))
	require.Empty(t, r.Read())
}

// TestClosedMeansNothingLeft: a queue that is shut down stays while it holds
// items.
func TestClosedMeansNothingLeft(t *testing.T) {
	var r registry.Registry
	q := newQueue("a")
	require.NoError(t, add(&r, q))
	q.Add("1")
	q.ShutDown()
	require.Equal(t, []string{"a"}, names(&r))
	require.Error(t, add(&r, newQueue("a")))
	item, _ := q.Get()
	require.Equal(t, []string{"a"}, names(&r))
	q.Done(item)
	require.Empty(t, names(&r))
}

// A swapped queue calls a function while it is read.
type swapped struct {
	shardq.Inspector
	meanwhile func()
}

func (s swapped) Stats() shardq.Stats {
	stats := s.Inspector.Stats()
	s.meanwhile()
	return stats
}

// TestReplacedWhileRead: a reader that finds a queue closed does not remove
// another queue that has its name by now. No lock is held while a queue is
// read, or this test would deadlock.
func TestReplacedWhileRead(t *testing.T) {
	var r registry.Registry
	old := newQueue("a")
	old.ShutDown()
	fresh := newQueue("a")
	once := false
	require.NoError(t, add(&r, swapped{old, func() {
		if !once {
			once = true
			require.True(t, r.Remove("a"))
			require.NoError(t, add(&r, fresh))
		}
	}}))
	require.Empty(t, r.Read(), "the old queue is closed")
	require.Equal(t, []string{"a"}, names(&r))
}

// A broken queue panics in Groups.
type broken struct{ shardq.Inspector }

func (broken) Inspect() stats.Inspection { return brokenInspection{} }

type brokenInspection struct{ stats.Inspection }

func (brokenInspection) Configuration() stats.Configuration {
	return stats.Configuration{Metrics: true, Groups: true}
}

// TestPanicOfGroups: Groups returns nil if the queue panics.
func TestPanicOfGroups(t *testing.T) {
	var r registry.Registry
	require.NoError(t, add(&r, broken{newQueue("a")}))
	r.Read()[0].Row.Queue = nil // its Groups panics
	readings := r.Read()
	require.False(t, readings[0].Read)
	require.EqualValues(t, 1, readings[0].Failures)
	require.Nil(t, readings[0].Groups(3))
}
