// Command bench compares package cluster with a plain JetStream consumer, and with
// asynq if there is a redis-server, on servers of its own. Different keys are
// stored first, and then worked on:
//
//	go run -C cluster/test ./bench
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

const batch, workers = 512, 8

// A system stores keys, and then works on them. Its work ends with ctx.
type system struct {
	store func(ctx context.Context, keys []string) error
	work  func(ctx context.Context, done func()) error
	close func()
}

// A contestant is a kind of system, whose data is in a directory.
type contestant struct {
	name string
	open func(ctx context.Context, dir string) (system, error)
}

func main() {
	keys := flag.Int("keys", 50_000, "the number of keys")
	turns := flag.Int("turns", 3, "how often each system runs: the table has medians")
	flag.Parse()
	var all []contestant
	for _, replicas := range []int{1, 3} {
		all = append(all, contestant{fmt.Sprintf("R%d, plain consumer", replicas), plain(replicas)})
		for nodes := 1; nodes <= 3; nodes++ {
			all = append(all, contestant{fmt.Sprintf("R%d, cluster, nodes: %d", replicas, nodes), clustered(replicas, nodes)})
		}
	}
	all = append(all, contestant{"asynq, one Redis", openAsynq})
	if err := compare(all, *keys, *turns); err != nil {
		log.Fatal("bench: ", err)
	}
}

func compare(all []contestant, keys, turns int) error {
	stored, worked := map[string][]float64{}, map[string][]float64{}
	for range turns {
		for _, c := range all {
			s, w, err := measure(c, keys)
			if errors.Is(err, errNoRedis) {
				fmt.Fprintln(os.Stderr, c.name, "is left out:", err)
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			stored[c.name], worked[c.name] = append(stored[c.name], s), append(worked[c.name], w)
		}
	}
	fmt.Println("| | keys stored per second | keys worked on per second |\n|---|---:|---:|")
	for _, c := range all {
		if s, w := stored[c.name], worked[c.name]; len(s) > 0 {
			fmt.Printf("| %s | %.0f | %.0f |\n", c.name, median(s), median(w))
		}
	}
	return nil
}

func median(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }

// measure returns keys per second. It does not measure the start, nor the end.
func measure(c contestant, n int) (stored, worked float64, err error) {
	dir, err := os.MkdirTemp("", "shardq-bench-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := c.open(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	defer s.close()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("invoice/%d", i)
	}
	begin := time.Now()
	if err = s.store(ctx, keys); err != nil {
		return 0, 0, err
	}
	middle := time.Now()
	handled, ended := make(chan struct{}, n), make(chan error, 1)
	go func() { ended <- s.work(ctx, func() { handled <- struct{}{} }) }()
	for range n {
		select {
		case <-handled:
		case err = <-ended:
			return 0, 0, errors.Join(errors.New("the work has ended"), err)
		}
	}
	worked = float64(n) / time.Since(middle).Seconds()
	cancel()
	return float64(n) / middle.Sub(begin).Seconds(), worked, <-ended
}

func clustered(replicas, nodes int) func(context.Context, string) (system, error) {
	return func(ctx context.Context, dir string) (system, error) {
		servers, err := clustertest.New(dir, replicas)
		if err != nil {
			return system{}, err
		}
		var all []*cluster.Node[string]
		end := func() {
			for _, node := range all {
				_ = node.Close()
			}
			servers.Close()
		}
		for range nodes {
			node, err := cluster.Join(ctx, cluster.Options[string]{Name: "bench", Servers: servers.URLs(), Replicas: replicas})
			if err != nil {
				end()
				return system{}, err
			}
			all = append(all, node)
		}
		return system{
			store: func(ctx context.Context, keys []string) error {
				for some := range slices.Chunk(keys, batch) {
					if err := all[0].AddAll(ctx, some...); err != nil {
						return err
					}
				}
				return nil
			},
			work: func(ctx context.Context, done func()) error {
				ended := make(chan error, len(all))
				for _, node := range all {
					go func() {
						ended <- node.Run(ctx, workers, func(context.Context, cluster.Claim[string]) error { done(); return nil })
					}()
				}
				var err error
				for range all {
					err = errors.Join(err, <-ended)
				}
				return err
			},
			close: end,
		}, nil
	}
}
