package main

import (
	"context"
	"encoding/base64"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

// batch is the number of keys that are stored without waiting between them, and
// workers that of the workers of a node.
const batch, workers = 512, 8

// measure stores keys in batches, and then has work call done once for each.
// Leaving is not measured.
func measure(keys []string, store func(some []string) error, work func(done func()) error) (took phases, err error) {
	begin := time.Now()
	for some := range slices.Chunk(keys, batch) {
		if err := store(some); err != nil {
			return took, err
		}
	}
	took[0] = time.Since(begin)
	begin = time.Now()
	handled := make(chan struct{}, len(keys))
	if err := work(func() { handled <- struct{}{} }); err != nil {
		return took, err
	}
	for range keys {
		<-handled
	}
	took[1] = time.Since(begin)
	return took, nil
}

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
		return measure(keys, func(some []string) error { return publish(js, some) }, func(done func()) error {
			consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
				Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
			})
			if err == nil {
				_, err = consumer.Consume(func(m jetstream.Msg) { _ = m.Ack(); done() }, jetstream.PullMaxMessages(batch))
			}
			return err
		})
	}
}

func publish(js jetstream.JetStream, keys []string) error {
	var answers []jetstream.PubAckFuture
	for _, key := range keys {
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
	return nil
}

// clustered is nodes of package cluster, with a server for each replica.
func clustered(replicas, nodes, partitions int) system {
	return func(ctx context.Context, dir string, keys []string) (took phases, err error) {
		servers, err := clustertest.New(dir, replicas)
		if err != nil {
			return took, err
		}
		defer servers.Close()
		all := make([]*cluster.Node[string], nodes)
		for i := range all {
			all[i], err = cluster.Join(ctx, cluster.Options[string]{
				Name: "bench", Servers: servers.URLs(), Replicas: replicas, Partitions: partitions,
			})
			if err != nil {
				return took, err
			}
			defer all[i].Close()
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return measure(keys, func(some []string) error { return all[0].AddAll(ctx, some...) }, func(done func()) error {
			for _, node := range all {
				go func() {
					err := node.Run(ctx, workers, func(context.Context, cluster.Claim[string]) error { done(); return nil })
					if err != nil {
						panic(err)
					}
				}()
			}
			return nil
		})
	}
}
