package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/limiter"
)

var (
	// ErrFull is returned by an add beyond MaxPending or MaxDelayed.
	ErrFull   = errors.New("cluster: the queue is full")
	ErrClosed = errors.New("cluster: the node is closed") // Close was called
	// ErrLeaseLost is the cause of a handler's context whose lease may be lost.
	ErrLeaseLost = errors.New("cluster: the lease of the partition is lost")
	// ErrKey means that a key's encoding fails, is empty, or exceeds 2048 bytes.
	ErrKey = names.ErrKey
	// ErrStore means that the node's own server cannot store. Close, and Join again.
	ErrStore   = errors.New("cluster: the server in this process has stopped storing: is its disk full?")
	ErrLetter  = errors.New("cluster: a dead letter cannot be read") // comes with Dead
	ErrRunning = errors.New("cluster: Run was called before")
	// ErrValues is returned by Put, PutOnce, PutAfter and NewValues without
	// [Options].Values, and by the other adds with it.
	ErrValues = errors.New("cluster: Put is for a queue with Options.Values, and the other adds for one without")
)

// A Node adds keys to a queue, and works on them in [Node.Run]. All methods are
// safe for concurrent use.
type Node[K comparable] struct {
	options    Options[K]
	id         string
	names      names.Queue
	server     *server.Server // nil unless Join has started it
	disconnect func()
	connection *nats.Conn
	js         jetstream.JetStream
	streams    streams
	// queue does not have the limiter, which would forget what has failed when
	// the servers take a key back.
	queue   *shardq.Queue[K]
	slots   []*slot // by partition
	limiter limiter.Limiter[K]
	counts  counts

	mu      sync.Mutex
	owned   map[int]*partition[K] // that the node may work on
	runs    map[K]*run[K]         // a run may outlive its partition
	running bool

	closed  atomic.Bool // changes while mu is locked
	delayed delayedCount
}

// Join connects to the servers, and opens the queue, or makes it. The node only
// adds keys until Run is called. Join returns an error also if the queue was
// made with other options. ctx limits the time to open the queue, and
// nats.Timeout to connect.
func Join[K comparable](ctx context.Context, options Options[K]) (*Node[K], error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	n := &Node[K]{
		options: o, id: nuid.Next(), names: names.Queue(o.Name), limiter: o.Queue.RateLimiter,
		owned: map[int]*partition[K]{}, runs: map[K]*run[K]{},
	}
	for partition := range o.Partitions {
		n.slots = append(n.slots, newSlot(o.Logger, partition))
	}
	o.Queue.RateLimiter = nil
	if n.queue, err = shardq.New(o.Queue); err != nil {
		return nil, fmt.Errorf("cluster: Options.Queue: %w", err)
	}
	if n.connection, n.server, n.disconnect, err = o.connect(); err != nil {
		return nil, err
	}
	if n.js, err = o.jetStream(n.connection); err == nil {
		err = retry(ctx, func() error { n.streams, err = openStreams(ctx, n.js, o); return err })
	}
	if err != nil {
		_ = n.Close()
		return nil, err
	}
	return n, nil
}

// ID returns the id of the node, which no other has or had.
func (n *Node[K]) ID() string { return n.id }

// Queue returns the queue in the node's memory, to observe it.
func (n *Node[K]) Queue() shardq.Inspector { return n.queue }

// Close closes the connection, unless it is Options.Connection, and the server
// that Join has started. End Run first. A second Close returns ErrClosed.
func (n *Node[K]) Close() error {
	n.mu.Lock()
	closed := n.closed.Swap(true)
	n.mu.Unlock()
	if closed {
		return ErrClosed
	}
	n.queue.ShutDown()
	if n.js != nil {
		n.js.CleanupPublisher() // of a connection that stays
	}
	n.disconnect()
	return nil
}

// stop ends the server and the connection, unless they are the user's.
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

func (o Options[K]) jetStream(connection *nats.Conn) (jetstream.JetStream, error) {
	window, timeout := jetstream.WithPublishAsyncMaxPending(publishWindow), jetstream.WithPublishAsyncTimeout(answerTime)
	if o.Domain != "" {
		return jetstream.NewWithDomain(connection, o.Domain, window, timeout)
	}
	return jetstream.New(connection, window, timeout)
}

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
	if !s.ReadyForConnections(20*time.Second) || !s.JetStreamEnabled() {
		stop()
		return nil, nil, fmt.Errorf("cluster: the server in %s cannot open its store: is the directory writable, and not full?", dir)
	}
	return s, stop, nil
}

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
