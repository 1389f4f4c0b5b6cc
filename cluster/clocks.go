package cluster

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/skew"
)

// clocks has the servers' clocks, and whether they differ by too much: a lease
// ends early or late by the skew between two leaders of the state stream.
type clocks struct {
	*skew.Clocks
	differ atomic.Bool
}

// info asks a stream's leader, and notes its time.
func (n *Node[K]) info(ctx context.Context, stream jetstream.Stream, options ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	asked := n.clocks.Now()
	info, err := stream.Info(ctx, options...)
	if err == nil && info.Cluster != nil && !info.TimeStamp.IsZero() {
		n.clocks.Saw(info.Cluster.Leader, info.TimeStamp, asked, n.clocks.Now())
		n.compareClocks()
	}
	return info, err
}

// compareClocks logs once that the clocks differ, and once that they agree.
func (n *Node[K]) compareClocks() {
	s := n.clocks.Greatest()
	differ := s.By > n.maxSkew()
	if n.clocks.differ.Swap(differ) == differ {
		return
	}
	if differ {
		n.options.Logger.Warn("the clocks of the servers differ: leases end early or late", "by", s.By, "ahead", s.Ahead, "behind", s.Behind)
	} else {
		n.options.Logger.Info("the clocks of the servers agree")
	}
}

// maxSkew is half of the time that a handler has between the end of its context
// and that of the lease.
func (n *Node[K]) maxSkew() time.Duration { return n.options.Lease / 8 }
