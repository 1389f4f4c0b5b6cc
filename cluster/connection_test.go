package cluster_test

import (
	"context"
	"strconv"
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

// natsserver starts a server with options of its own, and returns those of a
// queue on it.
func natsserver(t *testing.T, change func(o *server.Options)) cluster.Options[string] {
	o := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	change(o)
	s, err := server.NewServer(o)
	require.NoError(t, err)
	go s.Start()
	require.True(t, s.ReadyForConnections(patience))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return cluster.Options[string]{Name: "test", Servers: s.ClientURL(), Partitions: 2, Lease: 2 * time.Second}
}

// requireFault checks the error of Join, which has to mention all parts.
func requireFault(t *testing.T, o cluster.Options[string], parts ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // enough for an election beside much else
	defer cancel()
	_, err := cluster.Join(ctx, o)
	for _, part := range parts {
		require.ErrorContains(t, err, part)
	}
}

// TestAConnectionAndADomain checks that a node uses the connection that it was
// given, in a domain, and leaves it open.
func TestAConnectionAndADomain(t *testing.T) {
	o := natsserver(t, func(o *server.Options) { o.JetStreamDomain = "hub" })
	url := o.Servers
	connection, err := nats.Connect(url)
	require.NoError(t, err)
	defer connection.Close()
	o.Servers, o.Connection, o.Domain = "", connection, "hub"
	node := join(t, o)
	before := connection.NumSubscriptions()
	ran, stop := workKeys(t, node)
	require.NoError(t, node.AddAfter(t.Context(), "a", time.Millisecond))
	require.Equal(t, "a", receive(t, ran))
	waitUntilEmpty(t, node)
	stop()
	existing, err := cluster.Existing(t.Context(), cluster.Options[string]{Name: "test", Servers: url, Domain: "hub"})
	require.NoError(t, err)
	require.Equal(t, 2, existing.Partitions)

	require.NoError(t, node.Close())
	require.False(t, connection.IsClosed())
	eventually(t, func() bool { return connection.NumSubscriptions() <= before })
	require.ErrorIs(t, node.Add(t.Context(), "a"), cluster.ErrClosed)
	require.ErrorIs(t, node.AddAll(t.Context(), "a"), cluster.ErrClosed)
	require.ErrorIs(t, node.AddAfter(t.Context(), "a", time.Second), cluster.ErrClosed)
	require.ErrorIs(t, node.Run(t.Context(), 1, fails), cluster.ErrClosed)

	o.Domain = "elsewhere"
	requireFault(t, o, "is JetStream enabled")
	o = cluster.Options[string]{Name: "test", Connection: connection, Servers: "nats://127.0.0.1:1", NATS: []nats.Option{nats.Name("a")}, Dir: "d"}
	requireFault(t, o, "Options.Servers", "Options.NATS", "Options.Dir")
	connection.Close()
	requireFault(t, cluster.Options[string]{Name: "test", Connection: connection, Placement: &jetstream.Placement{}}, nats.ErrConnectionClosed.Error())
}

// TestPermissions checks that a user with the permissions that the documentation
// names can do all, in a domain, too, and that a node without one says which it is.
func TestPermissions(t *testing.T) {
	may := func(name string, publish ...string) *server.User {
		return &server.User{Username: name, Password: "p", Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: append(publish, "shardq.test.>", "$JS.ACK.>")},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "shardq.test.work.>"}},
		}}
	}
	for _, domain := range []string{"", "hub"} {
		o := natsserver(t, func(o *server.Options) {
			o.Users, o.JetStreamDomain = []*server.User{may("u", "$JS.API.>", "$JS.hub.API.>"), may("v", "$JS.hub.API.>")}, domain
		})
		requireFault(t, o, "Authorization Violation")
		o.NATS, o.Domain = []nats.Option{nats.UserInfo("v", "p")}, domain
		requireFault(t, o, "the stream shardq-test-state", `Permissions Violation for Publish to "$JS.API.STREAM.INFO`)
		refuse := func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Error(err) }
		o.NATS = []nats.Option{nats.UserInfo("u", "p"), nats.ErrorHandler(refuse)}
		node := join(t, o)
		discarded, stop := discard(t, node, 2, fails)
		require.NoError(t, node.AddAfter(t.Context(), "a", time.Millisecond))
		receive(t, discarded)
		waitUntilEmpty(t, node)
		for _, letter := range letters(t, node) {
			require.NoError(t, node.Forget(t.Context(), letter))
		}
		_, err := node.Cancel(t.Context(), "a")
		require.NoError(t, err)
		stop()
	}
	requireFault(t, natsserver(t, func(o *server.Options) { o.JetStream = false }), "is JetStream enabled")
}

func TestOptionsWithFaults(t *testing.T) {
	requireFault(t, cluster.Options[string]{
		Name: "a.b", Partitions: 2000, Replicas: 2, Lease: 2500 * time.Millisecond, MaxPending: -2, MaxHeld: -1,
		MaxAckPending: -1, LeaveTimeout: -1, Servers: "nats://127.0.0.1:1", Dir: "x", MaxDelayed: -1, MaxDead: -2, Domain: "a.b",
	}, "Options.Name", "Options.Partitions", "Options.Replicas", "Options.Lease", "Options.MaxPending", "Options.MaxHeld",
		"Options.MaxAckPending", "Options.LeaveTimeout", "Options.Dir", "Options.MaxDelayed", "Options.MaxDead", "Options.Domain")
	requireFault(t, cluster.Options[string]{Name: "a", Placement: &jetstream.Placement{}, Domain: "d"},
		"Options.Placement is set: want none without Servers", `Options.Domain is "d": want none without Servers`)
	requireFault(t, cluster.Options[string]{Name: "a", Servers: "nats://127.0.0.1:1"}, "connect to nats://127.0.0.1:1")
	_, err := cluster.Join(t.Context(), cluster.Options[int]{Name: "a"})
	require.ErrorContains(t, err, "Options.Codec is nil: want one for keys of type int")
}

type reversed struct{ cluster.Codec[string] }

func TestNodesMustAgree(t *testing.T) {
	_, servers := alone(t, asItIs)
	o := options(servers)
	o.Partitions, o.Lease, o.Values, o.Codec = 9, 3*time.Second, true, reversed{}
	requireFault(t, o, `Options.Partitions is 9: the queue was made with "8"`,
		`Options.Lease is 3s: the queue was made with "2s"`, `Options.Values is true: the queue was made with "false"`,
		`Options.Codec is cluster_test.reversed: the queue was made with "text"`)

	_, err := connect(t, servers).CreateStream(t.Context(), jetstream.StreamConfig{Name: "shardq-taken-3", Subjects: []string{"taken"}})
	require.NoError(t, err)
	o = options(servers)
	o.Name = "taken"
	requireFault(t, o, "the stream shardq-taken-3: it is configured otherwise: retention: Limits, want WorkQueue")
}

func TestPlacement(t *testing.T) {
	o := options(clustertest.Start(t, 3))
	o.Replicas, o.Placement = 3, &jetstream.Placement{Cluster: "clustertest", Tags: []string{"elsewhere"}}
	_, err := cluster.Join(t.Context(), o)
	require.ErrorContains(t, err, "tags not matched")
	o.Placement.Tags = nil
	join(t, o)
	join(t, o) // it has what it asks for
}

// TestAHeartbeatHasALimit checks that a node with ten large keys in flight is a
// member: keys of bytes that JSON writes as six.
func TestAHeartbeatHasALimit(t *testing.T) {
	o := natsserver(t, func(o *server.Options) { o.MaxPayload = 64 << 10 })
	node := join(t, o)
	goOn := make(chan struct{})
	start(t, node, cluster.RunOptions[string]{Workers: 10, Handle: func(context.Context, cluster.Claim[string]) error { <-goOn; return nil }})
	for i := range 10 {
		require.NoError(t, node.Add(t.Context(), strconv.Itoa(i)+strings.Repeat("\x01", 2000)))
	}
	eventually(t, func() bool {
		s := status(t, node)
		return len(s.Members) == 1 && s.Members[0].InFlight == 10 && len(s.Members[0].Oldest) > 1
	})
	close(goOn)
}
