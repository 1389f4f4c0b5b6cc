package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/cluster/internal/names"
)

// TestDelaysOfOneKeyMeet checks that adds with a delay that meet in the servers
// all succeed.
func TestDelaysOfOneKeyMeet(t *testing.T) {
	o := options(clustertest.Start(t, 3))
	o.Replicas = 3
	node := join(t, o)
	failed := make(chan error, 8)
	for key := range 20 {
		for i := range 8 {
			go func() {
				failed <- node.AddAfter(t.Context(), fmt.Sprint("k", key), time.Hour-time.Duration(i)*time.Minute)
			}()
		}
		for range 8 {
			require.NoError(t, receive(t, failed))
		}
	}
}

// A brittle codec panics at one key.
type brittle struct{}

func (brittle) Encode(key string) ([]byte, error) { return []byte(key), nil }

func (brittle) Decode(data []byte) (string, error) {
	if string(data) == "poison" {
		panic(errors.New("on purpose"))
	}
	return string(data), nil
}

// TestACodecThatPanics checks that it ends no program, and holds up no other
// key. A key that it cannot read is a dead letter.
func TestACodecThatPanics(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) { o.Codec, o.Partitions = brittle{}, 1 })
	ran, stop := workKeys(t, node)
	require.NoError(t, node.AddAll(t.Context(), "poison", "fine"))
	require.Equal(t, "fine", receive(t, ran))
	waitUntilEmpty(t, node)
	stop()
	found := 0
	for letter, err := range node.Dead(t.Context()) {
		require.ErrorIs(t, err, cluster.ErrLetter)
		require.Contains(t, letter.Reason, "the codec panicked: on purpose")
		require.NoError(t, node.Forget(t.Context(), letter))
		found++
	}
	require.Equal(t, 1, found)
}

// TestAFullPartitionHoldsUpNoOther checks that keys which are due and find no
// room, more than the servers deliver at a time, leave room for other
// partitions'.
func TestAFullPartitionHoldsUpNoOther(t *testing.T) {
	node, _ := alone(t, func(o *cluster.Options[string]) { o.Partitions, o.MaxPending = 2, 1 })
	keys := [2][]string{}
	for i := 0; len(keys[0]) < 1200 || len(keys[1]) < 3; i++ {
		key := fmt.Sprint("k", i)
		p := names.Partition([]byte(key), 2)
		keys[p] = append(keys[p], key)
	}
	ran, goOn := make(chan string, 2000), make(chan struct{})
	work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Key
		if c.Fence().Partition == 0 {
			<-goOn
		}
		return nil
	})
	full, waiting := keys[0][0], keys[0][1:]
	require.NoError(t, node.Add(t.Context(), full))
	require.Equal(t, full, receive(t, ran))
	for _, key := range waiting {
		require.NoError(t, node.AddAfter(t.Context(), key, time.Millisecond))
	}
	for _, key := range keys[1][:3] {
		require.NoError(t, node.AddAfter(t.Context(), key, time.Millisecond))
		receiveKey(t, ran, key)
	}
	close(goOn)
	for !slices.Contains(waiting, receive(t, ran)) { // what waited runs when there is room
	}
}

// forget makes a server lose track of the messages of a consumer.
func forget(js jetstream.JetStream, stream, consumer string) error {
	_, err := js.ResetConsumerToSequence(context.Background(), stream, consumer, 100)
	return err
}

func deleteConsumer(js jetstream.JetStream, stream, consumer string) error {
	return js.DeleteConsumer(context.Background(), stream, consumer)
}

// silence makes a server deliver nothing for an hour.
func silence(js jetstream.JetStream, stream, consumer string) error {
	_, err := js.PauseConsumer(context.Background(), stream, consumer, time.Now().Add(time.Hour))
	return err
}

// A consumerFault spoils a consumer.
type consumerFault func(js jetstream.JetStream, stream, consumer string) error

// TestANodeHearsAgain checks that a node hears of others whose consumer the
// servers have lost, or which gets nothing any more.
func TestANodeHearsAgain(t *testing.T) {
	for name, fault := range map[string]consumerFault{"deleted": deleteConsumer, "silent": silence} {
		t.Run(name, func(t *testing.T) {
			servers := clustertest.Start(t, 1)
			o := options(servers)
			o.Partitions = 24 // of which some are the other's, whatever its id is
			one, other := join(t, o), join(t, o)
			_, stopOne := workKeys(t, one)
			eventually(t, func() bool { return one.Stats().Partitions == 24 })
			js := connect(t, servers)
			state, err := js.Stream(t.Context(), "shardq-test-state")
			require.NoError(t, err)
			for consumer := range state.ConsumerNames(t.Context()).Name() {
				require.NoError(t, fault(js, "shardq-test-state", consumer))
			}
			_, stopOther := workKeys(t, other)
			eventually(t, func() bool { return one.Stats().Partitions < 24 })
			eventually(t, func() bool { return other.Stats().Partitions > 0 })
			stopOne()
			stopOther()
		})
	}
}

// TestTheConsumerOfDueKeysFails checks that keys whose delay has expired run,
// although the server has lost track of them, or an operator has deleted their
// consumer.
func TestTheConsumerOfDueKeysFails(t *testing.T) {
	for name, fault := range map[string]consumerFault{"deleted": deleteConsumer, "forgets": forget} {
		t.Run(name, func(t *testing.T) {
			node, servers := alone(t, asItIs)
			ran, _ := workKeys(t, node)
			require.NoError(t, node.AddAfter(t.Context(), "a", time.Millisecond))
			receiveKey(t, ran, "a")
			require.NoError(t, fault(connect(t, servers), "shardq-test-delayed", "due"))
			require.NoError(t, node.AddAfter(t.Context(), "b", time.Millisecond))
			receiveKey(t, ran, "b")
		})
	}
}

// TestAServerThatForgetsMessages checks that messages are delivered which the
// server does not count as those of its consumer: while the oldest is in
// flight, and behind a limit of messages that are not acknowledged.
func TestAServerThatForgetsMessages(t *testing.T) {
	for name, limit := range map[string]int{"beside the oldest": 0, "behind a limit": 1} {
		t.Run(name, func(t *testing.T) {
			node, servers := alone(t, func(o *cluster.Options[string]) { o.Partitions, o.MaxAckPending = 1, limit })
			ran, goOn := make(chan string, 10), make(chan struct{})
			work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
				if ran <- c.Key; c.Key == "a" {
					<-goOn
				}
				return nil
			})
			require.NoError(t, node.Add(t.Context(), "a"))
			require.Equal(t, "a", receive(t, ran))
			if limit > 0 {
				require.NoError(t, node.AddAll(t.Context(), "b", "c"))
			}
			require.NoError(t, forget(connect(t, servers), "shardq-test-0", "owner"))
			if limit > 0 {
				close(goOn)
				require.Equal(t, "b", receive(t, ran))
				require.Equal(t, "c", receive(t, ran))
			} else {
				require.NoError(t, node.Add(t.Context(), "b"))
				require.Equal(t, "b", receive(t, ran))
				close(goOn)
			}
			waitUntilEmpty(t, node)
		})
	}
}
