package faults

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/worker"
)

// entries returns what is pending or delayed of keys, or of all.
func entries(t *testing.T, node *cluster.Node[string], keys ...string) (pending, delayed []string) {
	for e, err := range node.Keys(t.Context(), keys...) {
		require.NoError(t, err)
		if e.Due.IsZero() {
			require.NotZero(t, e.Sequence)
			pending = append(pending, e.Key+string(e.Value))
		} else {
			delayed = append(delayed, e.Key+string(e.Value))
		}
	}
	return pending, delayed
}

// TestKeysAreCanceled checks keys that are pending with the servers, taken by a
// node, delayed, in flight, and added once more in flight.
func TestKeysAreCanceled(t *testing.T) {
	o := alone(t)
	o.Lease, o.Partitions, o.MaxAckPending = longLease, 1, 2
	node := join(t, o)
	cancel := func(key string, want bool) {
		canceled, err := node.Cancel(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, want, canceled, key)
	}
	began, goOn := make(chan string, 10), make(chan struct{})
	node2 := join(t, o)
	ended, stop := start(t, node2, cluster.RunOptions[string]{Workers: 1, Handle: func(_ context.Context, c cluster.Claim[string]) error {
		began <- c.Key
		<-goOn
		return nil
	}})
	require.NoError(t, node.Add(t.Context(), "runs"))
	require.Equal(t, "runs", receive(t, began))
	require.NoError(t, node.AddAll(t.Context(), "taken", "waits", "stays"))
	eventually(t, func() bool { return node2.Stats().Held == 2 }) // runs and taken
	require.NoError(t, node.Add(t.Context(), "runs"))
	require.NoError(t, node.AddAfter(t.Context(), "late", time.Hour))
	require.NoError(t, node.AddAfter(t.Context(), "later", 2*time.Hour))

	pending, delayed := entries(t, node)
	require.Equal(t, []string{"taken", "waits", "stays", "runs"}, pending)
	require.Equal(t, []string{"late", "later"}, delayed)
	for e, err := range node.Keys(t.Context(), "late") {
		require.NoError(t, err)
		require.InDelta(t, time.Hour.Seconds(), time.Until(e.Due).Seconds(), 60)
	}
	for _, key := range []string{"taken", "waits", "runs", "late"} {
		cancel(key, true)
		cancel(key, false)
	}
	pending, delayed = entries(t, node)
	require.Equal(t, []string{"stays"}, pending)
	require.Equal(t, []string{"later"}, delayed)
	eventually(t, func() bool { return node2.Stats().Held == 2 && status(t, node).Partitions[0].Taken <= 2 }) // runs and stays
	close(goOn)
	require.Equal(t, "stays", receive(t, began))
	eventually(t, func() bool { return status(t, node).Pending == 0 })
	stop()
	require.NoError(t, receive(t, ended))
	require.Empty(t, began)
}

// TestLettersAreFoundByKey checks that a letter is found, and its value, without
// those of other keys.
func TestLettersAreFoundByKey(t *testing.T) {
	o := alone(t)
	o.Values = true
	node := join(t, o)
	for _, key := range []string{"a", "b", "a"} {
		require.NoError(t, node.Put(t.Context(), key, []byte("1")))
		require.NoError(t, node.PutAfter(t.Context(), key, []byte("2"), time.Hour))
	}
	pending, delayed := entries(t, node, "a")
	require.Equal(t, []string{"a1", "a1"}, pending)
	require.Equal(t, []string{"a2", "a2"}, delayed)
	discarded := make(chan string, 3)
	start(t, node, cluster.RunOptions[string]{
		Workers:   1,
		Handle:    func(context.Context, cluster.Claim[string]) error { return worker.Permanent(context.Canceled) },
		OnDiscard: func(_ context.Context, f worker.Failure[string]) { discarded <- f.Item },
	})
	for range 2 {
		receive(t, discarded)
	}
	found := 0
	for letter, err := range node.Dead(t.Context(), "a", "none") {
		require.NoError(t, err)
		require.Equal(t, "a", letter.Key)
		found++
	}
	require.Equal(t, 2, found)
	canceled, err := node.Cancel(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, canceled)
	_, delayed = entries(t, node)
	require.Equal(t, []string{"b2"}, delayed)
}

// TestSettingsOfAQueue checks that pauses and rates reach all nodes, also one that
// comes later, and that nodes share a rate.
func TestSettingsOfAQueue(t *testing.T) {
	o := alone(t)
	o.Partitions = 32 // so many that each node has some
	o.Queue.Group = func(key string) string { return strings.Split(key, "/")[0] }
	nodes := []*cluster.Node[string]{join(t, o), join(t, o)}
	change := func(change func(*cluster.Settings)) { require.NoError(t, nodes[0].Change(t.Context(), change)) }
	change(func(s *cluster.Settings) { s.Paused = true })
	require.Error(t, nodes[0].Change(t.Context(), func(s *cluster.Settings) { s.Rate.PerSecond = -1 }))
	ran, _ := beginKeys(t, nodes[0])
	again, _ := beginKeys(t, nodes[1])
	add := func(keys ...string) { require.NoError(t, nodes[0].AddAll(t.Context(), keys...)) }
	next := func() (key string) {
		select {
		case key = <-ran:
		case key = <-again:
		case <-time.After(*patience):
			require.FailNow(t, "nothing ran")
		}
		return key
	}
	add("a/1", "a/2", "b/1", "b/2")
	held := func() int { return nodes[0].Stats().Held + nodes[1].Stats().Held }
	eventually(t, func() bool { return held() == 4 })
	require.True(t, status(t, nodes[0]).Settings.Paused)
	change(func(s *cluster.Settings) {
		s.Paused, s.Groups = false, map[string]cluster.GroupSettings{"a": {Paused: true}}
	})
	require.ElementsMatch(t, []string{"b/1", "b/2"}, []string{next(), next()})
	eventually(t, func() bool { return status(t, nodes[0]).Pending == 2 })
	require.Zero(t, len(ran)+len(again), "the group is paused")
	change(func(s *cluster.Settings) { s.Groups = nil })
	require.ElementsMatch(t, []string{"a/1", "a/2"}, []string{next(), next()})

	change(func(s *cluster.Settings) {
		s.Rate = shardq.Rate{PerSecond: 320, Burst: 64}
		s.Groups = map[string]cluster.GroupSettings{"a": {Paused: true, Rate: shardq.Rate{PerSecond: 32}}}
	})
	nodes = append(nodes, join(t, o))
	beginKeys(t, nodes[2])
	for i := range 100 {
		add(fmt.Sprintf("a/%d", i))
	}
	eventually(t, func() bool {
		all := 0
		for _, node := range nodes {
			owns, rate := node.Stats().Partitions, node.Queue().Stats().Rate
			all += owns
			if !isAbout(rate.PerSecond, 10*owns) || rate.Burst != 2*owns {
				return false
			}
			for group := range node.Queue().Groups() {
				if !isAbout(group.Rate.PerSecond, owns) || !group.Paused {
					return false
				}
			}
		}
		return all == o.Partitions
	})
}

// TestSettingsThatCannotBeRead checks that Run says so, and that they can be
// replaced.
func TestSettingsThatCannotBeRead(t *testing.T) {
	o := alone(t)
	node := join(t, o)
	_, err := client(t, o.Servers).Publish(t.Context(), "shardq.faults.lease.settings", []byte("{"))
	require.NoError(t, err)
	require.ErrorContains(t, node.Run(t.Context(), 1, nothing), "settings")
	require.NoError(t, node.Change(t.Context(), func(s *cluster.Settings) { s.Rate.PerSecond = 7 }))
	require.EqualValues(t, 7, status(t, node).Settings.Rate.PerSecond)
}

// isAbout compares a rate, which a queue keeps as a whole number of nanoseconds.
func isAbout(perSecond float64, want int) bool { return math.Abs(perSecond-float64(want)) < 0.01 }

// TestAHandlerNeverReturns checks that Run ends without it, and says which key it
// has, and that another node runs the key.
func TestAHandlerNeverReturns(t *testing.T) {
	o := alone(t)
	o.LeaveTimeout = time.Millisecond
	node := join(t, o)
	require.NoError(t, node.Add(t.Context(), "hangs"))
	began, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	ended, stop := start(t, node, cluster.RunOptions[string]{
		Workers: 1, AbandonAfter: time.Millisecond,
		Handle: func(context.Context, cluster.Claim[string]) error { close(began); <-goOn; return nil },
	})
	receive(t, began)
	stop()
	var left *worker.LeftoverError[string]
	require.ErrorAs(t, receive(t, ended), &left)
	require.Equal(t, "hangs", left.Left()[0].Item)
	require.Equal(t, worker.ReasonAbandoned, left.Left()[0].Reason)
	ran, _ := beginKeys(t, join(t, o))
	require.Equal(t, "hangs", receive(t, ran))
}
