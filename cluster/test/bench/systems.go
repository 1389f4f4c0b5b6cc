package main

import (
	"context"
	"encoding/base64"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

// batch is the number of keys that are stored without waiting between them, and
// workers that of the workers of a node.
const batch, workers = 512, 8

// plain is one consumer of a work queue, without partitions, leases and
// exclusion: what package cluster can reach at most.
func plain(replicas int) system {
	return func(ctx context.Context, dir string, keys []string) (took phases, err error) {
		servers, err := clustertest.New(dir, replicas)
		if err != nil {
			return took, err
		}
		defer servers.Close()
		conn, err := nats.Connect(servers.URLs())
		if err != nil {
			return took, err
		}
		defer conn.Close()
		js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*batch))
		if err != nil {
			return took, err
		}
		stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "plain", Subjects: []string{"plain.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
		})
		if err != nil {
			return took, err
		}
		begin := time.Now()
		if err := publish(js, keys); err != nil {
			return took, err
		}
		stored := time.Now()
		err = consume(ctx, stream, len(keys))
		return phases{stored.Sub(begin), time.Since(stored)}, err
	}
}

func publish(js jetstream.JetStream, keys []string) error {
	for some := range slices.Chunk(keys, batch) {
		var answers []jetstream.PubAckFuture
		for _, key := range some {
			subject := "plain." + base64.RawURLEncoding.EncodeToString([]byte(key))
			answer, err := js.PublishAsync(subject, nil, jetstream.WithStallWait(5*time.Second))
			if err != nil {
				return err
			}
			answers = append(answers, answer)
		}
		for _, answer := range answers {
			select {
			case <-answer.Ok():
			case err := <-answer.Err():
				return err
			}
		}
	}
	return nil
}

func consume(ctx context.Context, stream jetstream.Stream, n int) error {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
	})
	if err != nil {
		return err
	}
	var left sync.WaitGroup
	left.Add(n)
	consuming, err := consumer.Consume(func(m jetstream.Msg) { _ = m.Ack(); left.Done() }, jetstream.PullMaxMessages(batch))
	if err != nil {
		return err
	}
	defer consuming.Stop()
	left.Wait()
	return nil
}

// clustered is nodes of package cluster.
func clustered(replicas, nodes, partitions int) system {
	return func(ctx context.Context, dir string, keys []string) (took phases, err error) {
		all, end, err := join(ctx, dir, replicas, nodes, partitions)
		if err != nil {
			return took, err
		}
		defer end()
		begin := time.Now()
		for some := range slices.Chunk(keys, batch) {
			if err := all[0].AddAll(ctx, some...); err != nil {
				return took, err
			}
		}
		stored := time.Now()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // leaving is not measured
		handled := make(chan string, len(keys))
		for _, node := range all {
			work(ctx, node, handled)
		}
		for range keys {
			<-handled
		}
		return phases{stored.Sub(begin), time.Since(stored)}, nil
	}
}

// join starts as many servers as there are replicas, and joins nodes.
func join(ctx context.Context, dir string, replicas, nodes, partitions int) (all []*cluster.Node[string], end func(), err error) {
	servers, err := clustertest.New(dir, replicas)
	if err != nil {
		return nil, nil, err
	}
	end = func() {
		for _, node := range all {
			_ = node.Close()
		}
		servers.Close()
	}
	for range nodes {
		node, err := cluster.Join(ctx, cluster.Options[string]{
			Name: "bench", Servers: servers.URLs(), Replicas: replicas, Partitions: partitions,
		})
		if err != nil {
			end()
			return nil, nil, err
		}
		all = append(all, node)
	}
	return all, end, nil
}

// work has a node send the keys that it handles.
func work(ctx context.Context, node *cluster.Node[string], handled chan<- string) {
	go func() {
		err := node.Run(ctx, workers, func(_ context.Context, c cluster.Claim[string]) error {
			handled <- c.Key
			return nil
		})
		if err != nil {
			panic(err)
		}
	}()
}
