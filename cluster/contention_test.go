package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
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

// A codec that panics ends no program, and holds up no other key.
func TestACodecThatPanics(t *testing.T) {
	o := options(clustertest.Start(t, 1))
	o.Codec, o.Partitions = brittle{}, 1
	node := join(t, o)
	ran := make(chan string, 10)
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error { ran <- c.Key; return nil })
	require.NoError(t, node.AddAll(t.Context(), "poison", "fine"))
	require.Equal(t, "fine", receive(t, ran))
	stop()
}
