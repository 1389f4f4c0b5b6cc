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

// insist asks again for a minute: beside other load, servers that have just begun
// may answer late, lose a leader, or believe that one of them is offline.
func insist(attempt func() error) {
	begin, err := time.Now(), attempt()
	for ; err != nil && time.Since(begin) < time.Minute; err = attempt() {
		time.Sleep(100 * time.Millisecond)
	}
	check(err)
}

// plain has one consumer for each of some work queues. With one, it is what
// JetStream can do at most; with as many as a cluster has partitions, what a
// cluster can.
func plain(replicas, streams int) func(context.Context, string) system {
	return func(ctx context.Context, dir string) system {
		servers := must(clustertest.New(dir, replicas))
		conn := must(nats.Connect(servers.URLs()))
		js := must(jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*batch), jetstream.WithPublishAsyncTimeout(10*time.Second)))
		consumers := make([]jetstream.Consumer, streams)
		for i := range consumers {
			name := fmt.Sprintf("plain-%d", i)
			insist(func() error {
				stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
					Name: name, Subjects: []string{name + ".>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
				})
				if err == nil {
					consumers[i], err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
						Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
					})
				}
				return err
			})
		}
		return system{
			store: func(keys []string) {
				insist(func() error {
					answers := make([]jetstream.PubAckFuture, len(keys))
					for i, key := range keys {
						subject := fmt.Sprintf("plain-%d.%s", i%streams, base64.RawURLEncoding.EncodeToString([]byte(key)))
						answers[i] = must(js.PublishAsync(subject, nil, jetstream.WithStallWait(5*time.Second)))
					}
					var errs []error
					for _, answer := range answers {
						select {
						case <-answer.Ok():
						case err := <-answer.Err():
							errs = append(errs, err)
						}
					}
					return errors.Join(errs...)
				})
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
