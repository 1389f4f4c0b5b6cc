package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// A server that is frozen, or whose link is cut without a word, is left after
	// three pings without an answer: soon enough for an add's 20 seconds.
	pingInterval = 2 * time.Second
	writeTimeout = 5 * time.Second
)

// ofConnection connects again for ever, also after another password: whoever
// changes the credentials may take his time.
func (o Options[K]) ofConnection() []nats.Option {
	// An error such as that of a wrong password comes with each attempt.
	errs := newQuiet(cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	return []nats.Option{
		nats.Name("shardq " + o.Name), nats.ReconnectWait(250 * time.Millisecond),
		nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(writeTimeout), nats.ReconnectOnFlusherError(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			errs.warn(fmt.Sprint(err), "the connection to the servers has an error", err)
		}),
	}
}

// watch logs when the connection is lost and found, and ends the node when the
// connection is closed for good.
func (n *Node[K]) watch() {
	changes := n.connection.StatusChanged(nats.RECONNECTING, nats.CONNECTED, nats.CLOSED)
	defer n.connection.RemoveStatusListener(changes)
	lost := false
	for n.ended.Err() == nil && !n.connection.IsClosed() {
		select {
		case <-changes:
		case <-n.ended.Done():
		}
		if is := !n.connection.IsConnected(); is != lost && n.ended.Err() == nil {
			if lost = is; lost {
				n.options.Logger.Warn("the connection to the servers is lost", "error", n.disconnected())
			} else {
				n.options.Logger.Info("the connection to the servers is back", "server", n.connection.ConnectedUrlRedacted())
			}
		}
	}
	n.end(n.disconnected())
}

// disconnected returns why the node is not connected, or nil.
func (n *Node[K]) disconnected() error {
	reason := n.connection.LastError()
	switch {
	case n.connection.IsClosed():
		return errors.Join(fmt.Errorf("cluster: %w", nats.ErrConnectionClosed), reason)
	case !n.connection.IsConnected():
		return errors.Join(fmt.Errorf("cluster: the node is not connected: %w", nats.ErrDisconnected), reason)
	}
	return nil
}

// Done returns a channel that is closed when the node has ended: by Close, or
// because its connection was closed for good, which [Options].Servers avoids.
func (n *Node[K]) Done() <-chan struct{} { return n.ended.Done() }

// Err returns nil until Done, and then why the node has ended.
func (n *Node[K]) Err() error { return context.Cause(n.ended) }

// Check returns nil if the node is connected and, while it runs, the servers have
// stored a heartbeat within the time of a lease. Otherwise it returns the reason.
func (n *Node[K]) Check() error {
	if err := cmp.Or(n.Err(), n.disconnected()); err != nil {
		return err
	}
	if last := n.beaten.Load(); last != nil && time.Since(last.at) > n.options.Lease {
		return fmt.Errorf("cluster: no heartbeat was stored for %v: %w", time.Since(last.at), cmp.Or(last.err, context.DeadlineExceeded))
	}
	return nil
}

// Health returns a handler for probes of readiness: it answers as Check does,
// with status 200 or 503.
func (n *Node[K]) Health() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := n.Check(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}

// stop ends the server and the connection, unless they are the user's.
func (o Options[K]) connect() (connection *nats.Conn, s *server.Server, stop func(), err error) {
	if o.Connection != nil {
		if o.Connection.IsClosed() {
			return nil, nil, nil, fmt.Errorf("cluster: Options.Connection: %w", nats.ErrConnectionClosed)
		}
		return o.Connection, nil, func() {}, nil
	}
	settings := append(o.ofConnection(), o.NATS...)
	if o.Servers != "" {
		if connection, err = nats.Connect(o.Servers, settings...); err != nil {
			return nil, nil, nil, fmt.Errorf("cluster: connect to %s: %w", redacted(o.Servers), err)
		}
		return connection, nil, connection.Close, nil
	}
	s, stopServer, err := o.startServer()
	if err != nil {
		return nil, nil, nil, err
	}
	if connection, err = nats.Connect("", append(settings, nats.InProcessServer(s))...); err != nil {
		stopServer()
		return nil, nil, nil, fmt.Errorf("cluster: connect to the server in this process: %w", err)
	}
	return connection, s, func() { connection.Close(); stopServer() }, nil
}

func redacted(servers string) string {
	all := strings.Split(servers, ",")
	for i, server := range all {
		all[i] = "a URL that cannot be read"
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil {
			all[i] = u.Redacted()
		}
	}
	return strings.Join(all, ",")
}

// jetStream returns an error if the server is too old: it would refuse some of the
// streams, in words that say nothing of its version.
func (o Options[K]) jetStream(connection *nats.Conn) (jetstream.JetStream, error) {
	const oldest = 14
	var major, minor int
	version := connection.ConnectedServerVersion()
	if _, err := fmt.Sscanf(version, "%d.%d.", &major, &minor); err == nil && (major < 2 || major == 2 && minor < oldest) {
		return nil, fmt.Errorf("the NATS server %s has version %s: want 2.%d or later", connection.ConnectedServerName(), version, oldest)
	}
	window, timeout := jetstream.WithPublishAsyncMaxPending(publishWindow), jetstream.WithPublishAsyncTimeout(answerTime)
	if o.Domain != "" {
		return jetstream.NewWithDomain(connection, o.Domain, window, timeout)
	}
	return jetstream.New(connection, window, timeout)
}
