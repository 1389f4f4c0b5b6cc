package main

import (
	"context"
	"encoding/base64"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/clustertest"
)

// plain is one consumer of a work queue: what cluster can reach at most.
func plain(replicas int) func(context.Context, string) (system, error) {
	return func(ctx context.Context, dir string) (s system, err error) {
		servers, err := clustertest.New(dir, replicas)
		if err != nil {
			return s, err
		}
		conn, err := nats.Connect(servers.URLs())
		if err != nil {
			servers.Close()
			return s, err
		}
		s.close = func() { conn.Close(); servers.Close() }
		js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*batch))
		if err != nil {
			return s, err
		}
		stream, err := js.CreateStream(ctx, jetstream.StreamConfig{
			Name: "plain", Subjects: []string{"plain.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
		})
		s.store = func(_ context.Context, keys []string) error {
			for some := range slices.Chunk(keys, batch) {
				if err := publish(js, some); err != nil {
					return err
				}
			}
			return nil
		}
		s.work = func(ctx context.Context, done func()) error {
			c, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
				Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
			})
			if err != nil {
				return err
			}
			consuming, err := c.Consume(func(m jetstream.Msg) { _ = m.Ack(); done() }, jetstream.PullMaxMessages(batch))
			if err == nil {
				<-ctx.Done()
				consuming.Stop()
			}
			return err
		}
		return s, err
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

var errNoRedis = errors.New("there is no redis-server in the PATH")

// openAsynq has tasks whose ids are the keys: they are unique while they are
// pending. Redis writes to the disk each second.
func openAsynq(_ context.Context, dir string) (s system, err error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return s, errNoRedis
	}
	socket := filepath.Join(dir, "redis")
	redis := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--dir", dir, "--appendonly", "yes", "--save", "")
	if err = redis.Start(); err != nil {
		return s, err
	}
	at := asynq.RedisClientOpt{Network: "unix", Addr: socket}
	client := asynq.NewClient(at)
	s.close = func() { _ = client.Close(); _ = redis.Process.Kill(); _ = redis.Wait() }
	for deadline := time.Now().Add(10 * time.Second); client.Ping() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.close()
			return s, errors.New("redis-server does not answer")
		}
	}
	s.store = func(ctx context.Context, keys []string) error {
		var lanes sync.WaitGroup
		failed := make([]error, 64)
		for lane := range failed {
			lanes.Go(func() {
				for i := lane; i < len(keys) && failed[lane] == nil; i += len(failed) {
					_, failed[lane] = client.EnqueueContext(ctx, asynq.NewTask("bench", nil), asynq.TaskID(keys[i]))
				}
			})
		}
		lanes.Wait()
		return errors.Join(failed...)
	}
	s.work = func(ctx context.Context, done func()) error {
		server := asynq.NewServer(at, asynq.Config{Concurrency: workers, LogLevel: asynq.FatalLevel})
		err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { done(); return nil }))
		if err == nil {
			<-ctx.Done()
			server.Shutdown()
		}
		return err
	}
	return s, nil
}
