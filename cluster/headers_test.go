package cluster_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

type requestKey struct{}

// withInject returns options whose adds carry the request of their context, and
// headers that are not theirs.
func withInject(o cluster.Options[string]) cluster.Options[string] {
	o.Inject = func(ctx context.Context, header nats.Header) {
		if request, has := ctx.Value(requestKey{}).(string); has {
			header.Set("traceparent", request)
			header.Set("Shardq-Priority", "1000000")
			header.Set("nats-schedule", "@at never")
		}
	}
	return o
}

func request(t *testing.T, name string) context.Context {
	return context.WithValue(t.Context(), requestKey{}, name)
}

// requests returns the requests that the messages of a claim carry.
func requests(c cluster.Claim[string]) (all []string) {
	for _, header := range c.Headers() {
		all = append(all, header.Get("traceparent"))
	}
	return all
}

// The headers of an add reach the handler: of a key, of a delayed key, and
// again after a failure.
func TestHeadersReachTheHandler(t *testing.T) {
	servers := clustertest.Start(t, 1)
	node := join(t, withInject(options(servers)))
	type attempt struct {
		key      string
		requests []string
	}
	attempts := make(chan attempt, 10)
	var failed atomic.Bool
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		attempts <- attempt{c.Key, requests(c)}
		if c.Key == "delayed" && failed.CompareAndSwap(false, true) {
			return errors.New("on purpose")
		}
		return nil
	})
	for key, add := range map[string]func() error{
		"key":     func() error { return node.Add(request(t, "r1"), "key") },
		"delayed": func() error { return node.AddAfter(request(t, "r1"), "delayed", 100*time.Millisecond) },
		"many":    func() error { return node.AddAll(request(t, "r1"), "many") },
	} {
		require.NoError(t, add())
		require.Equal(t, attempt{key, []string{"r1"}}, receive(t, attempts))
		if key == "delayed" {
			require.Equal(t, attempt{key, []string{"r1"}}, receive(t, attempts), "the retry")
		}
	}
	require.NoError(t, node.Add(t.Context(), "none"))
	require.Equal(t, attempt{"none", []string{""}}, receive(t, attempts))
	stop()
}

// Each value carries the headers of its add.
func TestHeadersOfValues(t *testing.T) {
	servers := clustertest.Start(t, 1)
	o := withInject(options(servers))
	o.Values = true
	node := join(t, o)
	require.NoError(t, node.Put(request(t, "r1"), "key", []byte("1")))
	require.NoError(t, node.PutOnce(request(t, "r2"), "key", []byte("2"), "id"))
	var got []string
	done := make(chan struct{})
	stop := work(t, node, func(_ context.Context, c cluster.Claim[string]) error {
		if got = append(got, requests(c)...); len(got) == 2 {
			close(done)
		}
		return nil
	})
	receive(t, done)
	stop()
	require.Equal(t, []string{"r1", "r2"}, got)
}
