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
	Servers, Sink     string
	Replicas, Workers int
	Lease             time.Duration
	Verbose           bool
	Jumps             bool // the node's clock
}

// The leases of tests: a short one where a test waits for its end, and a long
// one where no lease may be lost, however busy the machine is.
const (
	shortLease = 2 * time.Second
	longLease  = 20 * time.Second
)

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

// jumping is a clock whose time of day jumps by an hour each second.
type jumping struct{ clock.Clock }

func (j *jumping) Now() time.Time {
	now := j.Clock.Now()
	if now.Unix()%2 == 0 {
		return now.Round(0).Add(time.Hour)
	}
	return now.Round(0)
}

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
	var accepted bool
	err := w.from.Decode(&accepted)
	if err == nil && !accepted {
		err = errors.New("the sink has refused the write")
	}
	return err
}

func tellCanceled(address string, r Run) {
	if w, err := dial(address); err == nil {
		defer w.Close()
		_ = w.tell(Canceled, r)
	}
}
