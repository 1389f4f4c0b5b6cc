package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/clustertest"
)

// create asks again for what exists or not when JetStream did not answer in its
// five seconds, as servers that have just begun and elect leaders may not.
func create[V any](attempt func() (V, error)) V {
	for begin := time.Now(); ; {
		v, err := attempt()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > time.Minute {
			return must(v, err)
		}
	}
}

// plain has one consumer for each of some work queues. With one, it is what
// JetStream can do at most; with as many as a cluster has partitions, what a
// cluster can.
func plain(replicas, streams int) func(context.Context, string) system {
	return func(ctx context.Context, dir string) system {
		servers := must(clustertest.New(dir, replicas))
		conn := must(nats.Connect(servers.URLs()))
		js := must(jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*batch)))
		consumers := make([]jetstream.Consumer, streams)
		for i := range consumers {
			name := fmt.Sprintf("plain-%d", i)
			stream := create(func() (jetstream.Stream, error) {
				return js.CreateStream(ctx, jetstream.StreamConfig{
					Name: name, Subjects: []string{name + ".>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
				})
			})
			consumers[i] = create(func() (jetstream.Consumer, error) {
				return stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
					Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
				})
			})
		}
		return system{
			store: func(keys []string) {
				var answers []jetstream.PubAckFuture
				for i, key := range keys {
					subject := fmt.Sprintf("plain-%d.%s", i%streams, base64.RawURLEncoding.EncodeToString([]byte(key)))
					answers = append(answers, must(js.PublishAsync(subject, nil, jetstream.WithStallWait(5*time.Second))))
				}
				for _, answer := range answers {
					select {
					case <-answer.Ok():
					case err := <-answer.Err():
						check(err)
					}
				}
			},
			work: func(done func()) {
				for _, c := range consumers {
					must(c.Consume(func(m jetstream.Msg) { _ = m.Ack(); done() }, jetstream.PullMaxMessages(batch)))
				}
			},
			close: func() { conn.Close(); servers.Close() },
		}
	}
}
