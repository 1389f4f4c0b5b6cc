package main

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/clustertest"
)

// plain is one consumer of a work queue: what cluster can reach at most.
func plain(replicas int) func(context.Context, string) system {
	return func(ctx context.Context, dir string) system {
		servers := must(clustertest.New(dir, replicas))
		conn := must(nats.Connect(servers.URLs()))
		js := must(jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*batch)))
		stream := must(js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "plain", Subjects: []string{"plain.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
		}))
		return system{
			store: func(keys []string) {
				var answers []jetstream.PubAckFuture
				for _, key := range keys {
					subject := "plain." + base64.RawURLEncoding.EncodeToString([]byte(key))
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
				c := must(stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
					Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
				}))
				must(c.Consume(func(m jetstream.Msg) { _ = m.Ack(); done() }, jetstream.PullMaxMessages(batch)))
			},
			close: func() { conn.Close(); servers.Close() },
		}
	}
}
