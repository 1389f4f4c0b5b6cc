package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
)

// TestAConnectionAndADomain checks that a node uses the connection that it was
// given, in a domain, and leaves it open.
func TestAConnectionAndADomain(t *testing.T) {
	s := natsserver(t, &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, JetStreamDomain: "hub",
	})
	connection, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer connection.Close()
	o := cluster.Options[string]{Name: "test", Connection: connection, Domain: "hub", Partitions: 2, Lease: 2 * time.Second}
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	before := connection.NumSubscriptions()
	ran, stop := workKeys(t, node)
	require.NoError(t, node.AddAfter(t.Context(), "a", time.Millisecond))
	require.Equal(t, "a", receive(t, ran))
	waitUntilEmpty(t, node)
	stop()
	existing, err := cluster.Existing(t.Context(), cluster.Options[string]{Name: "test", Servers: s.ClientURL(), Domain: "hub"})
	require.NoError(t, err)
	require.Equal(t, 2, existing.Partitions)

	require.NoError(t, node.Close())
	require.False(t, connection.IsClosed())
	require.Eventually(t, func() bool { return connection.NumSubscriptions() <= before }, patience, time.Millisecond)
	require.ErrorIs(t, node.Add(t.Context(), "a"), cluster.ErrClosed)
	require.ErrorIs(t, node.AddAll(t.Context(), "a"), cluster.ErrClosed)
	require.ErrorIs(t, node.AddAfter(t.Context(), "a", time.Second), cluster.ErrClosed)
	require.ErrorIs(t, node.Run(t.Context(), 1, func(context.Context, cluster.Claim[string]) error { return nil }), cluster.ErrClosed)

	o.Domain = "elsewhere"
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = cluster.Join(short, o)
	require.ErrorContains(t, err, "is JetStream enabled")

	o = cluster.Options[string]{Name: "test", Connection: connection, Servers: "nats://127.0.0.1:1", NATS: []nats.Option{nats.Name("a")}, Dir: "d"}
	_, err = cluster.Join(t.Context(), o)
	for _, part := range []string{"Servers", "NATS", "Dir"} {
		require.ErrorContains(t, err, "Options."+part)
	}
	connection.Close()
	_, err = cluster.Join(t.Context(), cluster.Options[string]{Name: "test", Connection: connection, Placement: &jetstream.Placement{}})
	require.ErrorIs(t, err, nats.ErrConnectionClosed)
}

// TestTLS checks a connection that is encrypted, and one that trusts nobody.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(http.NotFoundHandler()) // it has a certificate for 127.0.0.1
	defer certified.Close()
	s := natsserver(t, &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		TLSConfig: &tls.Config{Certificates: certified.TLS.Certificates},
	})
	trusted := x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	o := cluster.Options[string]{
		Name: "test", Servers: s.ClientURL(), Partitions: 2, Lease: 2 * time.Second,
		NATS: []nats.Option{nats.Secure(&tls.Config{RootCAs: trusted})},
	}
	node := join(t, o)
	ran, stop := workKeys(t, node)
	require.NoError(t, node.Add(t.Context(), "a"))
	require.Equal(t, "a", receive(t, ran))
	stop()

	o.NATS = nil
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "certificate")
}
