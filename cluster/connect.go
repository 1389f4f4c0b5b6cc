package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// readyWithin is how long a server that Join starts may take to be ready.
const readyWithin = 20 * time.Second

// connect returns s if it has started a server. stop ends that server and the
// connection, unless the options have the connection.
func (o Options[K]) connect() (connection *nats.Conn, s *server.Server, stop func(), err error) {
	if o.Connection != nil {
		if o.Connection.IsClosed() {
			return nil, nil, nil, fmt.Errorf("cluster: Options.Connection: %w", nats.ErrConnectionClosed)
		}
		return o.Connection, nil, func() {}, nil
	}
	settings := append([]nats.Option{
		nats.Name("shardq " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
	}, o.NATS...)
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

// redacted removes passwords from URLs.
func redacted(servers string) string {
	all := strings.Split(servers, ",")
	for i, server := range all {
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil {
			all[i] = u.Redacted()
		} else {
			all[i] = "a URL that cannot be read"
		}
	}
	return strings.Join(all, ",")
}

func (o Options[K]) jetStream(connection *nats.Conn) (jetstream.JetStream, error) {
	window, timeout := jetstream.WithPublishAsyncMaxPending(publishWindow), jetstream.WithPublishAsyncTimeout(answerTime)
	if o.Domain != "" {
		return jetstream.NewWithDomain(connection, o.Domain, window, timeout)
	}
	return jetstream.New(connection, window, timeout)
}

// startServer starts a server with a file store, which listens to no port.
func (o Options[K]) startServer() (s *server.Server, stop func(), err error) {
	dir := o.Dir
	if dir == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nil, nil, fmt.Errorf("cluster: Options.Dir is empty, and there is no default: %w", err)
		}
		dir = filepath.Join(config, "shardq", o.Name)
	}
	unlock, err := lockDirectory(dir)
	if err != nil {
		return nil, nil, err
	}
	s, err = server.NewServer(&server.Options{
		ServerName: "shardq-" + o.Name, DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
		SyncAlways: true, // a key that was added survives a loss of power
	})
	if err != nil {
		unlock()
		return nil, nil, fmt.Errorf("cluster: start a server in %s: %w", dir, err)
	}
	go s.Start()
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
		unlock()
	}
	if !s.ReadyForConnections(readyWithin) || !s.JetStreamEnabled() {
		stop()
		return nil, nil, fmt.Errorf("cluster: the server in %s cannot open its store: is the directory writable, and not full?", dir)
	}
	return s, stop, nil
}

// lockDirectory makes a directory, and locks it for this process. The lock ends
// with the process, also if it is killed.
func lockDirectory(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cluster: the directory of the server: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = errors.New("another process uses it")
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: lock the directory %s: %w", dir, err)
	}
	return func() { _ = lock.Unlock() }, nil
}
