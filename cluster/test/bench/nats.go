package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

func subjects() []subject {
	var all []subject
	for _, replicas := range []int{1, 3} {
		all = append(all, subject{fmt.Sprintf("R%d, plain consumer", replicas), openPlain(replicas)})
		for nodes := 1; nodes <= 3; nodes++ {
			all = append(all, subject{fmt.Sprintf("R%d, cluster, nodes: %d", replicas, nodes), openCluster(replicas, nodes)})
		}
	}
	return append(all,
		subject{"asynq, unique, appendfsync everysec", openAsynq("everysec")},
		subject{"asynq, unique, appendfsync always", openAsynq("always")})
}

// batch is the number of keys that are stored without waiting between them.
const batch = 512

// workers is the number of workers of a node.
const workers = 8

// A clustered system is nodes of package cluster.
type clustered struct {
	servers *clustertest.Servers
	nodes   []*cluster.Node[string]
}

func openCluster(replicas, nodes int) func(context.Context, string, options) (system, error) {
	return func(ctx context.Context, dir string, o options) (system, error) {
		return openNodes(ctx, dir, replicas, nodes, o.partitions, 0)
	}
}

// openNodes starts as many servers as there are replicas, and joins nodes.
func openNodes(ctx context.Context, dir string, replicas, nodes, partitions int, lease time.Duration) (*clustered, error) {
	servers, err := clustertest.New(dir, replicas)
	if err != nil {
		return nil, err
	}
	c := &clustered{servers: servers}
	for range nodes {
		node, err := cluster.Join(ctx, cluster.Options[string]{
			Name: "bench", Servers: servers.URLs(), Replicas: replicas, Partitions: partitions, Lease: lease,
		})
		if err != nil {
			c.close()
			return nil, err
		}
		c.nodes = append(c.nodes, node)
	}
	return c, nil
}

func (c *clustered) store(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		n := min(batch, len(keys))
		if err := c.nodes[0].AddAll(ctx, keys[:n]...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

func (c *clustered) work(ctx context.Context, n int, done func(key string)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var left atomic.Int64
	left.Store(int64(n))
	var running sync.WaitGroup
	var failed error
	for _, node := range c.nodes {
		running.Go(func() {
			err := node.Run(ctx, workers, func(_ context.Context, claim cluster.Claim[string]) error {
				done(claim.Key)
				if left.Add(-1) == 0 {
					cancel()
				}
				return nil
			})
			if err != nil {
				failed = err
				cancel()
			}
		})
	}
	<-ctx.Done()
	go running.Wait() // leaving is not measured
	return failed
}

func (c *clustered) close() {
	for _, node := range c.nodes {
		_ = node.Close()
	}
	c.servers.Close()
}

// A plain system is one consumer of a work queue, without partitions, leases
// and exclusion: what package cluster can reach at most.
type plain struct {
	servers  *clustertest.Servers
	conn     *nats.Conn
	js       jetstream.JetStream
	consumer jetstream.Consumer
}

func openPlain(replicas int) func(context.Context, string, options) (system, error) {
	return func(ctx context.Context, dir string, _ options) (system, error) {
		servers, err := clustertest.New(dir, replicas)
		if err != nil {
			return nil, err
		}
		p := &plain{servers: servers}
		if p.conn, err = nats.Connect(servers.URLs()); err != nil {
			return nil, err
		}
		if p.js, err = jetstream.New(p.conn, jetstream.WithPublishAsyncMaxPending(1024)); err != nil {
			return nil, err
		}
		stream, err := p.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "plain", Subjects: []string{"plain.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
		})
		if err != nil {
			return nil, err
		}
		p.consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 4096,
		})
		return p, err
	}
}

func (p *plain) store(ctx context.Context, keys []string) error {
	for len(keys) > 0 {
		n := min(batch, len(keys))
		var futures []jetstream.PubAckFuture
		for _, key := range keys[:n] {
			f, err := p.js.PublishAsync("plain."+base64.RawURLEncoding.EncodeToString([]byte(key)), nil, jetstream.WithStallWait(5*time.Second))
			if err != nil {
				return err
			}
			futures = append(futures, f)
		}
		for _, f := range futures {
			select {
			case <-f.Ok():
			case err := <-f.Err():
				return err
			}
		}
		keys = keys[n:]
	}
	return nil
}

func (p *plain) work(_ context.Context, n int, done func(key string)) error {
	finished := make(chan struct{})
	consuming, err := p.consumer.Consume(func(m jetstream.Msg) {
		done(m.Subject())
		_ = m.Ack()
		if n--; n == 0 {
			close(finished)
		}
	}, jetstream.PullMaxMessages(512))
	if err != nil {
		return err
	}
	defer consuming.Stop()
	<-finished
	return nil
}

func (p *plain) close() {
	p.conn.Close()
	p.servers.Close()
}
