// Command bench compares package cluster with a plain JetStream consumer, and
// with asynq if there is a redis-server, in turns, on servers of its own.
//
//	go run -C cluster/test ./bench
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

type phases [2]time.Duration

type system func(ctx context.Context, dir string, keys []string) (phases, error)

type subject struct {
	name   string
	system system
}

func subjects(partitions int) (all []subject) {
	for _, replicas := range []int{1, 3} {
		all = append(all, subject{fmt.Sprintf("R%d, plain consumer", replicas), plain(replicas)})
		for nodes := 1; nodes <= 3; nodes++ {
			all = append(all, subject{fmt.Sprintf("R%d, cluster, nodes: %d", replicas, nodes), clustered(replicas, nodes, partitions)})
		}
	}
	if _, err := exec.LookPath("redis-server"); err == nil {
		for _, fsync := range []string{"everysec", "always"} {
			all = append(all, subject{"asynq, unique, appendfsync " + fsync, asynqUnique(fsync)})
		}
	}
	return all
}

func main() {
	keys := flag.Int("keys", 100_000, "the number of keys")
	rounds := flag.Int("rounds", 3, "how often each system has its turn; the table has the medians")
	partitions := flag.Int("partitions", 16, "the number of partitions")
	only := flag.String("only", "", "measure only what has this in its name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "shardq-bench-")
	if err == nil && (*keys < 1 || *rounds < 1) {
		err = errors.New("want -keys and -rounds of 1 or more")
	}
	if err == nil {
		all := slices.DeleteFunc(subjects(*partitions), func(s subject) bool { return !strings.Contains(s.name, *only) })
		err = compare(ctx, dir, all, *keys, *rounds)
	}
	_ = os.RemoveAll(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, dir string, all []subject, n, rounds int) error {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("invoice/%d", i)
	}
	results := map[string][]phases{}
	for round := range rounds {
		for _, s := range all {
			took, err := s.system(ctx, filepath.Join(dir, fmt.Sprint(s.name, round)), keys)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			results[s.name] = append(results[s.name], took)
		}
	}
	fmt.Printf("%d keys, medians of %d rounds, %d processors, %s, %s\n\n",
		n, rounds, runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	fmt.Println("| | keys stored per second | keys worked on per second |\n|---|---:|---:|")
	for _, s := range all {
		fmt.Printf("| %s | %.0f | %.0f |\n", s.name, rate(n, results[s.name], 0), rate(n, results[s.name], 1))
	}
	return nil
}

func rate(keys int, results []phases, phase int) float64 {
	slices.SortFunc(results, func(a, b phases) int { return int(a[phase] - b[phase]) })
	return float64(keys) / results[len(results)/2][phase].Seconds()
}

const batch, workers = 512, 8

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

// plain is one consumer of a work queue: what cluster can reach at most.
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
