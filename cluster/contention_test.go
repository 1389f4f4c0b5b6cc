package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/worker"
)

// Adds with a delay that meet in the servers all succeed.
func TestDelaysOfOneKeyMeet(t *testing.T) {
	o := options(clustertest.Start(t, 3))
	o.Replicas = 3
	node := join(t, o)
	for key := range 20 {
		var group sync.WaitGroup
		failed := make(chan error, 8)
		for i := range 8 {
			group.Go(func() {
				failed <- node.AddAfter(t.Context(), fmt.Sprint("k", key), time.Hour-time.Duration(i)*time.Minute)
			})
		}
		group.Wait()
		close(failed)
		for err := range failed {
			require.NoError(t, err)
		}
	}
}

// The headers of an add outlive a backoff that the servers keep.
func TestHeadersOutliveABackoff(t *testing.T) {
	node := join(t, withInject(options(clustertest.Start(t, 1))))
	attempts := make(chan []string, 10)
	failed := false
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		attempts <- requests(c)
		if !failed {
			failed = true
			return worker.RequeueAfter(1100 * time.Millisecond)
		}
		return nil
	})
	require.NoError(t, node.Add(request(t, "r1"), "a"))
	require.Equal(t, []string{"r1"}, receive(t, attempts))
	require.Equal(t, []string{"r1"}, receive(t, attempts))
	stop()
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

// A codec that panics ends no program, and holds up no other key. A key that it
// cannot read is a dead letter.
func TestACodecThatPanics(t *testing.T) {
	o := options(clustertest.Start(t, 1))
	o.Codec, o.Partitions = brittle{}, 1
	node := join(t, o)
	ran := make(chan string, 10)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error { ran <- c.Key; return nil })
	require.NoError(t, node.AddAll(t.Context(), "poison", "fine"))
	require.Equal(t, "fine", receive(t, ran))
	waitUntilEmpty(t, node)
	stop()
	letters := 0
	for letter, err := range node.Dead(t.Context()) {
		require.ErrorIs(t, err, cluster.ErrLetter)
		require.Contains(t, letter.Reason, "the codec panicked: on purpose")
		require.NoError(t, node.Forget(t.Context(), letter))
		letters++
	}
	require.Equal(t, 1, letters)
}

// TestAFullPartitionHoldsUpNoOther checks that keys which are due and find no
// room, more than the servers deliver at a time, leave room for other
// partitions'.
func TestAFullPartitionHoldsUpNoOther(t *testing.T) {
	o := options(clustertest.Start(t, 1))
	o.Partitions, o.MaxPending = 2, 1
	node := join(t, o)
	keys := [2][]string{}
	for i := 0; len(keys[0]) < 1200 || len(keys[1]) == 0; i++ {
		key := fmt.Sprint("k", i)
		p := names.Partition([]byte(key), 2)
		keys[p] = append(keys[p], key)
	}
	ran, goOn := make(chan string, 2000), make(chan struct{})
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
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
	for i := range 3 {
		key := fmt.Sprint(keys[1][i])
		require.NoError(t, node.AddAfter(t.Context(), key, time.Millisecond))
		receiveKey(t, ran, key)
	}
	close(goOn)
	for !slices.Contains(waiting, receive(t, ran)) { // what waited runs when there is room
	}
	stop()
}

// TestTheAnswerOfAMoveIsLost checks that a delayed value comes once if the
// answer to its move from the delayed keys to its partition is lost.
func TestTheAnswerOfAMoveIsLost(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := options(servers)
	o.Values, o.Partitions = true, 1
	deaf := &deafDialer{answer: []byte(`"stream":"shardq-test-0"`)}
	o.NATS = []nats.Option{nats.SetCustomDialer(deaf)}
	node := join(t, o)
	ran := make(chan []cluster.Value, 10)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		ran <- c.Values()
		return nil
	})
	deaf.loses.Store(1)
	require.NoError(t, node.PutAfter(t.Context(), "a", []byte("1"), time.Millisecond))
	require.Len(t, receive(t, ran), 1)
	delayed, err := connect(t, servers).Stream(t.Context(), "shardq-test-delayed")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, err := delayed.Info(t.Context())
		return err == nil && info.State.Msgs == 0
	}, patience, 20*time.Millisecond, "the value is not moved to the end")
	waitUntilEmpty(t, node)
	stop()
	require.Zero(t, deaf.loses.Load(), "no answer was lost")
	require.Empty(t, ran, "the value came twice")
}

// TestTheAnswerOfAnAddIsLost checks that AddAll sends a key again.
func TestTheAnswerOfAnAddIsLost(t *testing.T) {
	o := options(clustertest.Start(t, 1))
	o.Partitions = 1
	deaf := &deafDialer{answer: []byte(`"stream":"shardq-test-0"`)}
	o.NATS = []nats.Option{nats.SetCustomDialer(deaf)}
	node := join(t, o)
	deaf.loses.Store(1)
	require.NoError(t, node.AddAll(t.Context(), "a", "b", "c"))
	require.Zero(t, deaf.loses.Load(), "no answer was lost")
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, s.Pending)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, node.AddAll(ended, "d"), context.Canceled)
}

// A deafDialer makes connections that lose answers of the server.
type deafDialer struct {
	answer []byte
	loses  atomic.Int64 // how many are lost yet
}

func (d *deafDialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	return &deafConn{c, d}, err
}

type deafConn struct {
	net.Conn
	*deafDialer
}

// Read spoils the subject of an answer, so that nobody waits for it.
func (c *deafConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	at := bytes.Index(p[:n], c.answer)
	if at < 0 || c.loses.Load() <= 0 {
		return n, err
	}
	if subject := bytes.LastIndex(p[:at], []byte(" _INBOX.")); subject >= 0 {
		end := subject + 1 + bytes.IndexByte(p[subject+1:at], ' ')
		copy(p[end-3:end], "~~~")
		c.loses.Add(-1)
	}
	return n, err
}
