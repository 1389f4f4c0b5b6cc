package faults

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/limiter"
)

// A Setting is what a worker's process gets.
type Setting struct {
	Servers  string
	Sink     string
	Replicas int
	Workers  int
	Lease    time.Duration
	Verbose  bool
	// Jumps makes the node's clock jump by up to an hour, to and fro.
	Jumps bool
}

// The leases of tests: a short one where a test waits for its end, and a long
// one where no lease may be lost, however busy the machine is.
const (
	shortLease = 2 * time.Second
	longLease  = 20 * time.Second
)

// Options returns those of the queue.
func (s Setting) Options() cluster.Options[string] {
	o := cluster.Options[string]{
		Name: "faults", Servers: s.Servers, Replicas: s.Replicas, Partitions: 8, Lease: s.Lease, LeaveTimeout: 5 * time.Second,
		Queue: shardq.Options[string]{RateLimiter: limiter.NewExponential[string](10*time.Millisecond, 100*time.Millisecond)},
	}
	if s.Jumps {
		o.Queue.Clock = &jumping{Clock: clock.Real()}
	}
	if s.Verbose {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", os.Getpid())
	}
	return o
}

// errRefused is the failure of a handler whose write was refused.
var errRefused = errors.New("the sink has refused the write")

// Work works until ctx ends.
func Work(ctx context.Context, s Setting) error {
	node, err := cluster.Join(ctx, s.Options())
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer node.Close()
	return node.Run(ctx, s.Workers, func(ctx context.Context, c cluster.Claim[string]) error {
		w, err := dial(s.Sink)
		if err != nil {
			return err
		}
		defer w.Close()
		r := Run{
			Key: c.Key, Partition: c.Fence().Partition, Epoch: c.Fence().Epoch, Sequence: c.Sequence(), Process: os.Getpid(),
		}
		defer context.AfterFunc(ctx, func() { tellCanceled(s.Sink, r) })()
		for _, step := range []Step{Begins, Writes, Wrote} {
			if err := w.tell(step, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// A wire is a connection to the sink.
type wire struct {
	net.Conn
	to   *json.Encoder
	from *json.Decoder
}

func dial(address string) (*wire, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &wire{c, json.NewEncoder(c), json.NewDecoder(c)}, nil
}

// tell tells the sink of a step, and waits until the run may go on.
func (w *wire) tell(step Step, r Run) error {
	if err := w.to.Encode(Request{step, r}); err != nil {
		return err
	}
	var a Response
	if err := w.from.Decode(&a); err != nil {
		return err
	}
	if !a.Accepted {
		return errRefused
	}
	return nil
}

func tellCanceled(address string, r Run) {
	if w, err := dial(address); err == nil {
		defer w.Close()
		_ = w.tell(Canceled, r)
	}
}
