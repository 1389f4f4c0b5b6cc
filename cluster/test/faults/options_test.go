package faults

import (
	"bytes"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

// TestOptionsThatDiffer checks that Join says what a queue has otherwise, and
// changes it if it is told to, without loss.
func TestOptionsThatDiffer(t *testing.T) {
	t.Parallel()
	o := small(clustertest.Start(t, 3).URLs())
	o.Partitions = 1
	node := join(t, o)
	require.NoError(t, node.AddAll(t.Context(), "a", "b", "c"))
	other := o
	other.Replicas, other.MaxPending, other.MaxDead = 3, 2, 7
	_, err := cluster.Join(t.Context(), other)
	require.ErrorContains(t, err, "Replicas: 1, want 3")
	require.ErrorContains(t, err, "shardq-faults-state")
	other.Replicas = 0
	_, err = cluster.Join(t.Context(), other)
	require.ErrorContains(t, err, "a limit of messages: -1, want 7")

	other.Update, other.Replicas = true, 3
	wrong := other
	wrong.Partitions = 2
	_, err = cluster.Join(t.Context(), wrong)
	require.ErrorContains(t, err, "Partitions")
	join(t, o) // nothing has changed
	changed := join(t, other)
	require.EqualValues(t, 3, status(t, node).Pending, "a limit below what is pending removes nothing")
	require.ErrorIs(t, changed.Add(t.Context(), "d"), cluster.ErrFull)
	js := client(t, o.Servers)
	for name, limit := range map[string]int64{"0": 2, "dead": 7, "state": -1, "delayed": -1} {
		config := stream(t, js, name).CachedInfo().Config
		require.Equal(t, limit, config.MaxMsgs, name)
		require.Equal(t, 3, config.Replicas, name)
	}
	join(t, o) // what it does not ask for stays

	other.MaxPending, other.MaxDead = -1, 0
	changed = join(t, other)
	require.NoError(t, changed.Add(t.Context(), "d"))
	run(t, changed, map[string]bool{"a": true, "b": true, "c": true, "d": true})

	ran, _ := beginKeys(t, node)
	for _, other.Replicas = range []int{1, 3} { // while a node works
		join(t, other)
		left := map[string]bool{}
		for i := range 50 {
			key := strconv.Itoa(i)
			left[key] = true
			require.NoError(t, node.Add(t.Context(), key))
		}
		for len(left) > 0 {
			delete(left, receive(t, ran))
		}
	}
}

// TestAnOldServer checks that Join names the version that it wants, and makes
// nothing.
func TestAnOldServer(t *testing.T) {
	o := alone(t)
	o.NATS = []nats.Option{nats.SetCustomDialer(forger(func(received []byte) {
		if at := bytes.Index(received, []byte(`"version":"2.1`)); at >= 0 {
			received[at+len(`"version":"2.`)] = '0'
		}
	}))}
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "want 2.14 or later")
	_, err = client(t, o.Servers).Stream(t.Context(), "shardq-faults-state")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}
