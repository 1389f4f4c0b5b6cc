package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster/internal/names"
	"github.com/shardq/shardq/limiter"
)

// Options configure a node. All nodes of a queue must have the same Name,
// Codec, Partitions, Lease and Values.
type Options[K comparable] struct {
	// Name is the name of the queue: 1 to 64 letters, digits, - or _.
	Name string

	// Servers are the URLs of NATS servers, with commas between them. NATS has
	// options of the connection. They override those that the node sets, such as
	// its nats.PingInterval of 2 s: three unanswered pings end a connection.
	// With neither Servers nor Connection, Join starts a server that serves only
	// this node, with its data in Dir.
	Servers string
	NATS    []nats.Option

	// Connection is used in place of the node's own, and excludes Servers, NATS
	// and Dir. Give it nats.MaxReconnects(-1) and nats.IgnoreAuthErrorAbort(),
	// and a short nats.PingInterval: a node does not survive the end of its
	// connection, and does not close it.
	Connection *nats.Conn

	// Domain is the JetStream domain of the servers that store the queue.
	// Defaults to that of the server to which the node connects.
	Domain string

	// Dir is the directory of the server that Join starts, for one process at a
	// time. Defaults to shardq/Name in the user's configuration directory.
	Dir string

	// Codec encodes keys. Equal keys must have equal encodings. Defaults to the
	// bytes of a string. Other types need one.
	Codec Codec[K]

	// Partitions is 1 to 256, and cannot be changed for a queue that exists.
	// Each costs a stream and a consumer, and belongs to one node at a time.
	// Defaults to 16.
	Partitions int

	// Replicas is the number of servers that store the queue, 1, 3 or 5, and
	// Placement selects them. A new queue has 1 by default.
	Replicas  int
	Placement *jetstream.Placement

	// Update makes Join change the Replicas, Placement, MaxPending and MaxDead
	// of a queue that exists. Without it, other values are an error. Values
	// that are zero change nothing. A node that runs goes on meanwhile.
	Update bool

	// Lease is how long a silent node keeps its partitions: 2 s
	// or more, in whole seconds. Defaults to 20 s, which survives an election.
	Lease time.Duration

	// Values makes each add carry a value: see [Node.Put] and [NewValues]. A run
	// gets the values of its key together, in the order of the stream.
	Values bool

	// MaxPending limits the pending keys, or values, of each partition, and
	// MaxDelayed, approximately, all delayed ones, without backoffs. Adds
	// beyond a limit return [ErrFull]. When there are MaxDead dead letters, a
	// key that would be discarded runs again each second. If zero, a new queue
	// has no limit. If -1, Update removes the limit of a queue that exists.
	MaxPending, MaxDelayed, MaxDead int64

	// MaxHeld limits the messages that a node has taken and not acknowledged.
	// Each partition has an equal part, at least one. Defaults to 8192.
	MaxHeld int

	// MaxAckPending limits these messages for each partition. A partition stops
	// while that many of its keys wait for a short backoff, or with Values for
	// any backoff. Defaults to 512.
	MaxAckPending int

	// LeaveTimeout is the wait for handlers of lost partitions: 30 s if zero.
	LeaveTimeout time.Duration

	// Queue configures the queue in the node's memory, such as its limiter,
	// groups and hooks. The node sets Name, and sets Capacity to 0.
	Queue shardq.Options[K]

	// Inject writes headers into each add: see [Claim.Headers]. Their names must
	// not begin with Nats- or Shardq-. It must be safe for concurrent use.
	Inject func(ctx context.Context, header nats.Header)

	// Logger gets what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
}

// minLease gives requests, which live for half of it, at least a second.
const minLease = 2 * time.Second

// A Codec encodes keys as bytes. Join compares its name with that of the codec by
// which the queue was made: what its method Name() string returns, or the name of
// its type. An empty name is not compared.
type Codec[K comparable] interface {
	Encode(key K) ([]byte, error)
	Decode(data []byte) (K, error)
}

type text struct{}

func (text) Encode(key string) ([]byte, error)  { return []byte(key), nil }
func (text) Name() string                       { return "text" }
func (text) Decode(data []byte) (string, error) { return string(data), nil }

func (o Options[K]) complete() (Options[K], error) {
	var faults []error
	fault := func(is bool, format string, arguments ...any) {
		if is {
			faults = append(faults, fmt.Errorf("cluster: Options."+format, arguments...))
		}
	}
	err := names.Queue(o.Name).Validate()
	fault(err != nil, "Name: %w", err)
	if o.Codec == nil {
		codec, ok := any(text{}).(Codec[K])
		fault(!ok, "Codec is nil: want one for keys of type %T", *new(K))
		o.Codec = codec
	}
	o.Partitions = cmp.Or(o.Partitions, 16)
	o.MaxHeld, o.MaxAckPending = cmp.Or(o.MaxHeld, 8192), cmp.Or(o.MaxAckPending, 512)
	o.Lease, o.LeaveTimeout = cmp.Or(o.Lease, 20*time.Second), cmp.Or(o.LeaveTimeout, 30*time.Second)
	fault(o.Partitions < 1 || o.Partitions > 256, "Partitions is %d: want 1 to 256", o.Partitions)
	fault(o.Replicas != 0 && o.Replicas != 1 && o.Replicas != 3 && o.Replicas != 5, "Replicas is %d: want 1, 3 or 5", o.Replicas)
	fault(o.Lease < minLease || o.Lease%time.Second != 0, "Lease is %v: want whole seconds, %v or more", o.Lease, minLease)
	fault(o.MaxPending < -1, "MaxPending is %d: want 0 or more, or -1 (no limit)", o.MaxPending)
	fault(o.MaxHeld < 1, "MaxHeld is %d: want 1 or more", o.MaxHeld)
	fault(o.MaxAckPending < 1, "MaxAckPending is %d: want 1 or more", o.MaxAckPending)
	fault(o.LeaveTimeout < 0, "LeaveTimeout is %v: want 0 (the default) or more", o.LeaveTimeout)
	fault(o.MaxDelayed < 0, "MaxDelayed is %d: want 0 (no limit) or more", o.MaxDelayed)
	fault(o.MaxDead < -1, "MaxDead is %d: want 0 or more, or -1 (no limit)", o.MaxDead)
	fault(strings.ContainsAny(o.Domain, ".*> \t\r\n"), "Domain is %q: want no dot, star, > or space", o.Domain)
	o.checkServers(fault)
	o.Queue.Name, o.Queue.Capacity = o.Name, 0
	if o.Queue.RateLimiter == nil {
		o.Queue.RateLimiter = limiter.DefaultItemBased[K]()
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o, errors.Join(faults...)
}

func (o Options[K]) checkServers(fault func(is bool, format string, arguments ...any)) {
	if o.Connection != nil {
		fault(o.Servers != "", "Servers is %q: want none with Connection", o.Servers)
		fault(o.NATS != nil, "NATS is set: want none with Connection")
		fault(o.Dir != "", "Dir is %q: want none with Connection", o.Dir)
		return
	}
	fault(o.Servers != "" && o.Dir != "", "Dir is %q: want none with Servers", o.Dir)
	if o.Servers == "" {
		fault(o.Replicas > 1, "Replicas is %d: want 1 without Servers", o.Replicas)
		fault(o.Placement != nil, "Placement is set: want none without Servers")
		fault(o.Domain != "", "Domain is %q: want none without Servers", o.Domain)
	}
}

func (o Options[K]) maxTaken() int { return max(1, min(o.MaxAckPending, o.MaxHeld/o.Partitions)) }
