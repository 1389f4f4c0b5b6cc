// Package bench compares package cluster with a plain JetStream consumer, on
// servers of its own. b.N keys are stored first, and then worked on:
//
//	go test -C cluster -run '^$' -bench . -benchtime 50000x -count 3 ./test/bench
package bench

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

const batch, workers = 512, 8

func BenchmarkQueue(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		b.Run(fmt.Sprintf("replicas=%d/plain", replicas), func(b *testing.B) { plain(b, replicas) })
		for nodes := 1; nodes <= 3; nodes++ {
			b.Run(fmt.Sprintf("replicas=%d/nodes=%d", replicas, nodes), func(b *testing.B) { clustered(b, replicas, nodes) })
		}
	}
}

// measure reports the rates of both phases. Leaving is not measured.
func measure(b *testing.B, store func(keys []string) error, work func(done func())) {
	keys := make([]string, b.N)
	for i := range keys {
		keys[i] = fmt.Sprintf("invoice/%d", i)
	}
	begin := time.Now()
	for some := range slices.Chunk(keys, batch) {
		require.NoError(b, store(some))
	}
	stored := time.Now()
	handled := make(chan struct{}, len(keys))
	work(func() { handled <- struct{}{} })
	for range keys {
		<-handled
	}
	b.ReportMetric(float64(b.N)/stored.Sub(begin).Seconds(), "stored/s")
	b.ReportMetric(float64(b.N)/time.Since(stored).Seconds(), "worked-on/s")
	b.ReportMetric(0, "ns/op") // it has the start of the servers
}

// plain is one consumer of a work queue: what cluster can reach at most.
func plain(b *testing.B, replicas int) {
	conn, err := nats.Connect(clustertest.Start(b, replicas).URLs())
	require.NoError(b, err)
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*batch))
	require.NoError(b, err)
	stream, err := js.CreateStream(b.Context(), jetstream.StreamConfig{
		Name: "plain", Subjects: []string{"plain.>"}, Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Replicas: replicas,
	})
	require.NoError(b, err)
	measure(b, func(keys []string) error { return publish(js, keys) }, func(done func()) {
		consumer, err := stream.CreateConsumer(b.Context(), jetstream.ConsumerConfig{
			Durable: "plain", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 8 * batch,
		})
		require.NoError(b, err)
		_, err = consumer.Consume(func(m jetstream.Msg) { _ = m.Ack(); done() }, jetstream.PullMaxMessages(batch))
		require.NoError(b, err)
	})
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

func clustered(b *testing.B, replicas, nodes int) {
	servers := clustertest.Start(b, replicas)
	all := make([]*cluster.Node[string], nodes)
	for i := range all {
		var err error
		all[i], err = cluster.Join(b.Context(), cluster.Options[string]{Name: "bench", Servers: servers.URLs(), Replicas: replicas})
		require.NoError(b, err)
		defer all[i].Close()
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	measure(b, func(keys []string) error { return all[0].AddAll(ctx, keys...) }, func(done func()) {
		for _, node := range all {
			go func() {
				err := node.Run(ctx, workers, func(context.Context, cluster.Claim[string]) error { done(); return nil })
				if err != nil {
					panic(err)
				}
			}()
		}
	})
}
