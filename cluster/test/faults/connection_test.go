//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

// with starts a server with options of its own.
func with(t *testing.T, change func(o *server.Options)) (s *server.Server, o *server.Options) {
	o = &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	require.NoError(t, err)
	go s.Start()
	require.True(t, s.ReadyForConnections(*patience))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	o.Port = s.Addr().(*net.TCPAddr).Port // also after a reload
	return s, o
}

func probe(node *cluster.Node[string]) (code int, text string) {
	w := httptest.NewRecorder()
	node.Health().ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	return w.Code, w.Body.String()
}

// TestCredentialsChange checks that a node whose password is refused says so,
// and works again when the password is right again.
func TestCredentialsChange(t *testing.T) {
	t.Parallel()
	s, settings := with(t, func(o *server.Options) { o.Username, o.Password = "u", "p" })
	var log logbook
	o := small(s.ClientURL())
	o.Logger, o.NATS = log.logger(), []nats.Option{nats.UserInfo("u", "p")}
	node := join(t, o)
	ran, _ := beginKeys(t, node)
	require.NoError(t, node.Check())

	other := settings.Clone()
	other.Password = "other"
	require.NoError(t, s.ReloadOptions(other))
	eventually(t, func() bool { return log.count("authorization violation") > 0 })
	before, _ := s.Varz(nil)
	eventually(t, func() bool { // a client gives up after the second attempt, unless told otherwise
		now, _ := s.Varz(nil)
		return now.TotalConnections > before.TotalConnections+9
	})
	require.Less(t, log.count("has an error"), 5, "not a line for each attempt")
	eventually(t, func() bool { return errors.Is(node.Check(), nats.ErrAuthorization) })
	code, text := probe(node)
	require.Equal(t, 503, code)
	require.Contains(t, text, "not connected")
	_, err := node.Status(t.Context())
	require.ErrorIs(t, err, nats.ErrDisconnected)

	require.NoError(t, s.ReloadOptions(settings.Clone()))
	eventually(t, func() bool { return node.Check() == nil })
	require.NoError(t, node.Add(t.Context(), "a"))
	require.Equal(t, "a", receive(t, ran))
	require.NoError(t, node.Err())
}

// TestAConnectionIsClosed checks that Run ends with the reason when the user's
// connection is closed.
func TestAConnectionIsClosed(t *testing.T) {
	t.Parallel()
	connection, err := nats.Connect(clustertest.Start(t, 1).URLs())
	require.NoError(t, err)
	o := small("")
	o.Connection = connection
	node := join(t, o)
	ended, _ := begin(t, node, nothing)
	connection.Close()
	require.ErrorIs(t, receive(t, ended), nats.ErrConnectionClosed)
	receive(t, node.Done())
	require.ErrorIs(t, node.Err(), nats.ErrConnectionClosed)
	require.ErrorIs(t, node.Add(t.Context(), "a"), nats.ErrConnectionClosed)
	code, _ := probe(node)
	require.Equal(t, 503, code)
}

// TestAServerFreezes checks that the clients of a frozen server of three, and
// those whose link passes nothing in one direction, go on with another server
// within the time that an add waits.
func TestAServerFreezes(t *testing.T) {
	t.Parallel()
	servers := clustertest.Start(t, 3)
	for name, streams := range map[string][]string{"both": nil, "half": {"downstream"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLink(t, servers.URL(0))
			o := small(l.url())
			o.Name, o.Replicas = name, 3
			node := join(t, o)
			l.spoil("timeout", `{"timeout": 0}`, streams...)
			require.NoError(t, node.Add(t.Context(), "a"))
		})
	}
}

// TestTheServersHaveNoRoom checks that adds and new workers say so, that nobody
// takes the status for good, and that those who work go on, also when there is room.
func TestTheServersHaveNoRoom(t *testing.T) {
	t.Parallel()
	s, _ := with(t, func(o *server.Options) { o.JetStreamMaxStore = 512 << 10 })
	js := client(t, s.ClientURL())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ballast"})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "ballast", make([]byte, 256<<10))
	require.NoError(t, err)
	o := small(s.ClientURL())
	node, other := join(t, o), join(t, o)
	goOn, canceled := make(chan struct{}), make(chan error, 1000)
	for _, each := range []*cluster.Node[string]{node, other} {
		begin(t, each, func(ctx context.Context, c cluster.Claim[string]) error {
			select {
			case <-goOn:
			case <-ctx.Done():
				canceled <- context.Cause(ctx)
			}
			return nil
		})
	}
	owned := func() int { return node.Stats().Partitions + other.Stats().Partitions }
	eventually(t, func() bool { return owned() == 4 && len(status(t, node).Members) == 2 })
	var full error
	for i := 0; full == nil; i++ {
		full = node.Add(t.Context(), fmt.Sprint(i, strings.Repeat(" ", 1000)))
	}
	require.ErrorIs(t, full, cluster.ErrStore)
	require.ErrorContains(t, full, "insufficient resources")
	require.ErrorIs(t, join(t, o).Run(t.Context(), 1, nothing), cluster.ErrStore)
	eventually(t, func() bool { return errors.Is(node.Check(), cluster.ErrStore) })
	eventually(t, func() bool { return len(status(t, node).Members) == 0 })
	require.NoError(t, js.DeleteStream(t.Context(), "ballast"))
	since := time.Now()
	eventually(t, func() bool { return time.Since(since) > 2*o.Lease && node.Check() == nil && other.Check() == nil })
	require.Equal(t, 4, owned(), "no node has left or taken a partition")
	require.Empty(t, canceled, "the leases went on")
	close(goOn)
	eventually(t, func() bool { return status(t, node).Pending == 0 })
}
