package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

// TestAPartitionFails checks that an operator's consumer, which stops one
// partition, stops nothing else: not the other partitions, nor the servers by
// endless attempts. The partition goes on when the consumer is gone.
func TestAPartitionFails(t *testing.T) {
	o, log := alone(t), logbook{}
	o.Logger = log.logger()
	node := join(t, o)
	js := client(t, o.Servers)
	work := stream(t, js, "1")
	_, err := work.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "audit", AckPolicy: jetstream.AckExplicitPolicy})
	require.NoError(t, err)
	ran, _ := beginKeys(t, node)

	failing := func() bool { return status(t, node).Partitions[1].State == cluster.Failing }
	eventually(t, failing)
	ill := status(t, node).Partitions[1]
	require.Contains(t, ill.Error, "10099")
	require.NotEmpty(t, ill.Owner, "the lease stays, as another node would fail as well")
	others := map[string]bool{}
	for i := range 40 {
		require.NoError(t, node.Add(t.Context(), strconv.Itoa(i)))
	}
	for range 40 - status(t, node).Partitions[1].Pending {
		others[receive(t, ran)] = true
	}
	require.Equal(t, 1, node.Stats().Failing)
	require.Equal(t, 3, node.Stats().Partitions)
	requests, err := js.Conn().SubscribeSync("$JS.API.CONSUMER.CREATE.shardq-faults-1.>")
	require.NoError(t, err)
	before := stream(t, js, "state").CachedInfo().State.LastSeq
	began := time.Now()
	eventually(t, func() bool { return time.Since(began) > shortLease && failing() })
	stored := float64(stream(t, js, "state").CachedInfo().State.LastSeq - before)
	require.Less(t, stored/time.Since(began).Seconds(), 20.0, "messages a second on the state stream")
	attempts, _, err := requests.Pending()
	require.NoError(t, err)
	require.NotZero(t, attempts)
	require.Less(t, float64(attempts)/time.Since(began).Seconds(), 10.0, "attempts to open it a second")
	require.Equal(t, 1, log.count("partition=1", "level=WARN"), "one line for the change, not for each attempt")

	require.NoError(t, work.DeleteConsumer(t.Context(), "audit"))
	for len(others) < 40 {
		others[receive(t, ran)] = true
	}
	eventually(t, func() bool { return status(t, node).Partitions[1].State == cluster.Open })
}

// TestAConsumerIsDeleted checks that the owner of a partition sees at once that an
// operator has deleted its consumer: not by its own checks, which come each lease.
func TestAConsumerIsDeleted(t *testing.T) {
	o := alone(t)
	o.Partitions, o.Lease = 1, time.Hour
	node := join(t, o)
	ran, _ := beginKeys(t, node)
	eventually(t, func() bool { return node.Stats().Partitions == 1 })
	require.NoError(t, stream(t, client(t, o.Servers), "0").DeleteConsumer(t.Context(), "owner"))
	require.NoError(t, node.Add(t.Context(), "a"))
	require.Equal(t, "a", receive(t, ran))
}

// TestALeaseCannotBeRead checks the same where an operator has written over a
// lease: its partition fails, and the node acquires the others.
func TestALeaseCannotBeRead(t *testing.T) {
	o, log := alone(t), logbook{}
	o.Logger = log.logger()
	node := join(t, o)
	js := client(t, o.Servers)
	_, err := js.Publish(t.Context(), "shardq.faults.lease.2", []byte("mine"))
	require.NoError(t, err)
	beginKeys(t, node)
	eventually(t, func() bool { s := node.Stats(); return s.Failing == 1 && s.Partitions == 3 })
	eventually(t, func() bool { return status(t, node).Partitions[2].State == cluster.Failing })
	require.Contains(t, status(t, node).Partitions[2].Error, "acquire the lease")
	require.Equal(t, 1, log.count("a partition fails", "partition=2"))
	require.NoError(t, stream(t, js, "state").Purge(t.Context(), jetstream.WithPurgeSubject("shardq.faults.lease.2")))
	eventually(t, func() bool { return node.Stats().Partitions == 4 })
}

// TestOpeningLeavesNoConsumer checks that restarts of workers do not add up to
// the servers' limit of consumers.
func TestOpeningLeavesNoConsumer(t *testing.T) {
	o := alone(t)
	js := client(t, o.Servers)
	for range 3 {
		node := join(t, o)
		for partition := range 4 { // a key of each has failed before
			m := nats.NewMsg(fmt.Sprintf("shardq.faults.failures.%d.YQ", partition))
			m.Data = []byte(`{"failures":1}`)
			_, err := js.PublishMsg(t.Context(), m)
			require.NoError(t, err)
		}
		_, stop := beginKeys(t, node)
		eventually(t, func() bool { return node.Stats().Partitions == 4 })
		require.LessOrEqual(t, stream(t, js, "state").CachedInfo().State.Consumers, 1, "what hears the other nodes")
		stop()
		require.Zero(t, stream(t, js, "state").CachedInfo().State.Consumers)
		require.NoError(t, node.Close())
	}
}

// TestAWorkStreamIsDeleted checks what an add says, at once, that the status has
// the other partitions, and that a node that joins makes the stream again.
func TestAWorkStreamIsDeleted(t *testing.T) {
	o := alone(t)
	o.Partitions = 2
	node := join(t, o)
	keys := strings.Split("abcdefghij", "")
	require.NoError(t, node.AddAll(t.Context(), keys...))
	left := status(t, node).Partitions[1].Pending
	require.NoError(t, client(t, o.Servers).DeleteStream(t.Context(), "shardq-faults-0"))
	s := status(t, node)
	require.Equal(t, cluster.Failing, s.Partitions[0].State)
	require.Contains(t, s.Partitions[0].Error, "stream not found")
	require.Equal(t, []uint64{left, left}, []uint64{s.Pending, s.Partitions[1].Pending})
	began := time.Now()
	err := node.AddAll(t.Context(), keys...)
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
	require.ErrorContains(t, err, "was deleted")
	require.Less(t, time.Since(began), 10*time.Second)
	require.NoError(t, join(t, o).Add(t.Context(), "a"))
}

// TestEpochsGrow checks that a sink accepts the writes of new owners after the
// stream of the leases was deleted, and its numbers start over.
func TestEpochsGrow(t *testing.T) {
	o, last := alone(t), map[int]uint64{}
	js := client(t, o.Servers)
	for round := range 3 {
		node := join(t, o)
		fences, stop := beginSeeing(t, node, cluster.Claim[string].Fence)
		next := map[int]uint64{}
		for i := 0; len(next) < 4; i++ {
			require.NoError(t, node.Add(t.Context(), strconv.Itoa(i)))
			fence := receive(t, fences)
			require.Greater(t, fence.Epoch, last[fence.Partition], "round %d", round)
			next[fence.Partition] = fence.Epoch
		}
		stop()
		last = next
		require.NoError(t, js.DeleteStream(t.Context(), "shardq-faults-state"))
		require.NoError(t, node.Close())
	}
}

// TestAServerIsLostForGood checks that a new node works on the partitions whose
// streams live, and that it and the status name those which do not.
func TestAServerIsLostForGood(t *testing.T) {
	t.Parallel()
	servers := clustertest.Start(t, 3)
	var log logbook
	o := small(servers.URLs())
	o.Logger = log.logger()
	join(t, o)
	js := client(t, o.Servers)
	first, ok := servers.Leader("shardq-faults-state")
	require.True(t, ok)
	config := stream(t, js, "1").CachedInfo().Config
	require.NoError(t, js.DeleteStream(t.Context(), config.Name))
	servers.Stop(first) // so that another has it
	eventually(t, func() bool {
		_, err := js.CreateStream(t.Context(), config)
		return err == nil || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) // by an attempt before
	})
	require.NoError(t, servers.Restart(first))
	require.NoError(t, join(t, o).Add(t.Context(), "a"))
	lost, ok := servers.Leader("shardq-faults-1")
	require.True(t, ok)
	want := map[int]cluster.State{}
	for i := range 4 { // the servers choose where the others are
		want[i] = cluster.Open
		if leader, _ := servers.Leader(fmt.Sprint("shardq-faults-", i)); leader == lost {
			want[i] = cluster.Failing
		}
	}
	servers.Stop(lost)
	node := join(t, o)
	ran, _ := beginKeys(t, node)
	eventually(t, func() bool {
		s, got := status(t, node), map[int]cluster.State{}
		for i, p := range s.Partitions {
			got[i] = p.State
		}
		return maps.Equal(want, got) && strings.Contains(strings.Join(s.Silent, "\n"), "the stream shardq-faults-1:")
	})
	require.Equal(t, 1, log.count("without a stream", "the stream shardq-faults-1:"))
	require.NoError(t, servers.Restart(lost))
	require.Equal(t, "a", receive(t, ran))
	eventually(t, func() bool { return node.Stats().Partitions == 4 && status(t, node).Silent == nil })
}

// TestTheStoreComesBackFromABackup checks that a partition whose sink has seen
// greater epochs gets one above, and that no attempt is counted meanwhile.
func TestTheStoreComesBackFromABackup(t *testing.T) {
	t.Parallel()
	dir, backup := t.TempDir(), t.TempDir()
	servers, err := clustertest.New(dir, 1)
	require.NoError(t, err)
	t.Cleanup(servers.Close)
	var epochs [4]atomic.Uint64 // that the sink has seen
	var refused atomic.Int64
	serve := func(times int) {
		for range times {
			node, written := join(t, small(servers.URLs())), make(chan int, 1000)
			_, stop := begin(t, node, func(_ context.Context, c cluster.Claim[string]) error {
				seen := &epochs[c.Fence().Partition]
				if last := seen.Load(); last > c.Fence().Epoch {
					refused.Add(1)
					return fmt.Errorf("refused: %w", &cluster.FenceError{Epoch: last})
				}
				seen.Store(c.Fence().Epoch)
				written <- c.Attempt()
				return nil
			})
			for i := range 40 {
				require.NoError(t, node.Add(t.Context(), strconv.Itoa(i)))
			}
			for range 40 {
				require.Equal(t, 1, receive(t, written))
			}
			stop()
			require.NoError(t, node.Close())
		}
	}
	copied := func(from, to string) {
		servers.Stop(0)
		require.NoError(t, os.RemoveAll(to))
		require.NoError(t, os.CopyFS(to, os.DirFS(from)))
		require.NoError(t, servers.Restart(0))
	}
	serve(1)
	copied(dir, backup)
	serve(2)
	copied(backup, dir)
	for i := range epochs {
		epochs[i].Add(1 << 40) // in a long time since the backup
	}
	serve(2) // the second has epochs that are greater still
	require.NotZero(t, refused.Load())
}
