package faults

import (
	"context"
	"flag"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/limiter"
)

var (
	patience = flag.Duration("patience", 2*time.Minute, "how long to wait; it matters only if something fails")
	verbose  = flag.Bool("log", false, "show what the nodes log")
)

// tick is how often a test looks where nobody tells it.
const tick = 10 * time.Millisecond

// receive receives from a channel.
func receive[V any](t *testing.T, from <-chan V) (v V) {
	select {
	case v = <-from:
	case <-time.After(*patience):
		require.FailNow(t, "nothing came")
	}
	return v
}

// run has a node work until each of the keys had a run.
func run(t *testing.T, node *cluster.Node[string], keys map[string]bool) {
	ran, stop := beginKeys(t, node)
	for left := maps.Clone(keys); len(left) > 0; {
		delete(left, receive(t, ran))
	}
	stop()
}

// small returns the options of a small queue with short leases.
func small(servers string) cluster.Options[string] {
	return cluster.Options[string]{
		Name: "faults", Servers: servers, Partitions: 4, Lease: shortLease,
		Queue: shardq.Options[string]{RateLimiter: limiter.NewExponential[string](time.Millisecond, time.Millisecond)},
	}
}

// alone has a test run beside others, with a server of its own.
func alone(t *testing.T) cluster.Options[string] {
	t.Parallel()
	return small(clustertest.Start(t, 1).URLs())
}

func join(t *testing.T, o cluster.Options[string]) *cluster.Node[string] {
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	return node
}

// start runs a node in the background, until stop or the end of the test. The end
// of Run is received.
func start(t *testing.T, node *cluster.Node[string], o cluster.RunOptions[string]) (ended <-chan error, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ends, over := make(chan error, 1), make(chan struct{})
	go func() {
		ends <- node.RunWith(ctx, o)
		close(over)
	}()
	stop = func() { cancel(); receive(t, over) }
	t.Cleanup(stop)
	return ends, stop
}

func begin(t *testing.T, node *cluster.Node[string], handle func(context.Context, cluster.Claim[string]) error) (ended <-chan error, stop func()) {
	return start(t, node, cluster.RunOptions[string]{Workers: 4, Handle: handle})
}

func nothing(context.Context, cluster.Claim[string]) error { return nil }

// beginSeeing is begin with a handler that sends what a function sees of its runs.
func beginSeeing[V any](t *testing.T, node *cluster.Node[string], see func(c cluster.Claim[string]) V) (seen <-chan V, stop func()) {
	all := make(chan V, 20_000)
	_, stop = begin(t, node, func(_ context.Context, c cluster.Claim[string]) error { all <- see(c); return nil })
	return all, stop
}

func beginKeys(t *testing.T, node *cluster.Node[string]) (ran <-chan string, stop func()) {
	return beginSeeing(t, node, func(c cluster.Claim[string]) string { return c.Key })
}

func eventually(t *testing.T, is func() bool) {
	require.Eventually(t, is, *patience, tick)
}

func status(t *testing.T, node *cluster.Node[string]) cluster.Status {
	s, err := node.Status(t.Context())
	require.NoError(t, err)
	return s
}

// client returns a client of servers.
func client(t *testing.T, servers string) jetstream.JetStream {
	conn, err := nats.Connect(servers)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return js
}

// stream returns a stream of the queue of small.
func stream(t *testing.T, js jetstream.JetStream, name string) jetstream.Stream {
	s, err := js.Stream(t.Context(), "shardq-faults-"+name)
	require.NoError(t, err)
	return s
}

// A logbook counts what a node logs.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) Write(line []byte) (int, error) {
	if *verbose {
		print(string(line))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// count returns the number of lines that have all parts.
func (l *logbook) count(parts ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		has := 0
		for _, part := range parts {
			if strings.Contains(line, part) {
				has++
			}
		}
		if has == len(parts) {
			n++
		}
	}
	return n
}
