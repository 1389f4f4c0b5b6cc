package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/cluster/internal/skew"
	"github.com/shardq/shardq/limiter"
)

var (
	// ErrFull is returned by an add beyond MaxPending or MaxDelayed.
	ErrFull   = errors.New("cluster: the queue is full")
	ErrClosed = errors.New("cluster: the node is closed") // Close was called
	// ErrLeaseLost is the cause with which a handler's context ends if the
	// lease of its key may be lost.
	ErrLeaseLost = errors.New("cluster: the lease of the partition is lost")
	// ErrKey means that a key's encoding fails, is empty, or exceeds 2048 bytes.
	ErrKey = names.ErrKey
	// ErrStore means that a server says it cannot store. If this process runs
	// that server, close the node and Join again.
	ErrStore   = errors.New("cluster: the server cannot store: is its disk full, or max_file_store reached?")
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
	due     *slot   // of the keys whose delay has ended
	limiter limiter.Limiter[K]
	counts  counts
	ofKeys  *quiet // warnings
	beaten  atomic.Pointer[beaten]

	mu      sync.Mutex
	owned   map[int]*partition[K] // that the node may work on
	runs    map[K]*run[K]         // a run may outlive its partition
	running bool

	closed  atomic.Bool // changes while mu is locked
	ended   context.Context
	end     context.CancelCauseFunc
	delayed delayedCount
	store   storeCheck
	clocks  clocks
	applied applied
}

// Join connects to the servers, and opens the queue, or makes it. The node only
// adds keys until Run is called. If the queue was made with other options, Join
// returns an error. ctx limits the time to open the queue, and nats.Timeout the
// time to connect.
func Join[K comparable](ctx context.Context, options Options[K]) (*Node[K], error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	n := &Node[K]{
		options: o, id: nuid.Next(), names: names.Queue(o.Name), limiter: o.Queue.RateLimiter,
		owned: map[int]*partition[K]{}, runs: map[K]*run[K]{}, clocks: clocks{Clocks: skew.New()},
	}
	for partition := range o.Partitions {
		n.slots = append(n.slots, newSlot(o.Logger.With("partition", partition), "a partition"))
	}
	n.ofKeys = newQuiet(o.Logger)
	n.due = newSlot(o.Logger, "the reader of delayed keys")
	o.Queue.RateLimiter = nil
	o.Queue.GroupPolicy = n.groupPolicy(o.Queue)
	if n.queue, err = shardq.New(o.Queue); err != nil {
		return nil, fmt.Errorf("cluster: Options.Queue: %w", err)
	}
	if n.connection, n.server, n.disconnect, err = o.connect(); err != nil {
		return nil, err
	}
	n.ended, n.end = context.WithCancelCause(context.Background())
	go n.watch()
	if n.js, err = o.jetStream(n.connection); err == nil {
		n.streams, err = openStreams(ctx, n.js, o)
	}
	if err != nil {
		_ = n.Close()
		return nil, fmt.Errorf("cluster: %w", err)
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
	n.end(ErrClosed)
	n.queue.ShutDown()
	if n.js != nil {
		n.js.CleanupPublisher() // of a connection that stays
	}
	n.disconnect()
	return nil
}
