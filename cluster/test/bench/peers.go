package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hibiken/asynq"
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

// openAsynq has tasks whose ids are the keys: they are unique while they are
// pending. Redis writes to the disk each second.
func openAsynq(ctx context.Context, dir string) system {
	socket := filepath.Join(dir, "redis")
	redis := exec.Command("redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir, "--appendonly", "yes", "--save", "")
	if err := redis.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "asynq is left out:", err)
		return system{}
	}
	at := asynq.RedisClientOpt{Network: "unix", Addr: socket}
	client := asynq.NewClient(at)
	for deadline := time.Now().Add(10 * time.Second); client.Ping() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			check(errors.New("redis-server does not answer"))
		}
	}
	server := asynq.NewServer(at, asynq.Config{Concurrency: workers, LogLevel: asynq.FatalLevel})
	return system{
		store: func(keys []string) {
			var lanes sync.WaitGroup
			for lane := range 64 {
				lanes.Go(func() {
					for i := lane; i < len(keys); i += 64 {
						must(client.EnqueueContext(ctx, asynq.NewTask("bench", nil), asynq.TaskID(keys[i])))
					}
				})
			}
			lanes.Wait()
		},
		work: func(done func()) {
			check(server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { done(); return nil })))
		},
		close: func() { server.Shutdown(); _ = client.Close(); _ = redis.Process.Kill(); _ = redis.Wait() },
	}
}
