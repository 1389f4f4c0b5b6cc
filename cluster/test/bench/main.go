// Command bench compares package cluster with a plain JetStream consumer, on
// servers of its own. Different keys are stored first, and then worked on:
//
//	go run -C cluster/test ./bench
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

const batch, workers = 512, 8

// A system stores some keys at a time, and then works on them until ctx ends.
type system struct {
	store func(keys []string)
	work  func(done func())
	close func()
}

// A contestant opens a system whose data is in a directory.
type contestant struct {
	name           string
	open           func(ctx context.Context, dir string) system
	stored, worked []float64 // keys per second, in each turn
}

func main() {
	n := flag.Int("keys", 50_000, "the number of keys")
	turns := flag.Int("turns", 3, "how often each system runs: the table has medians")
	flag.Parse()
	var all []*contestant
	for _, replicas := range []int{1, 3} {
		for _, streams := range []int{1, 16} { // a cluster has 16 partitions by default
			all = append(all, &contestant{name: fmt.Sprintf("R%d, plain consumers: %d", replicas, streams), open: plain(replicas, streams)})
		}
		for nodes := 1; nodes <= 3; nodes++ {
			all = append(all, &contestant{name: fmt.Sprintf("R%d, cluster, nodes: %d", replicas, nodes), open: clustered(replicas, nodes)})
		}
	}
	for range *turns {
		for _, c := range all {
			c.measure(*n)
		}
	}
	fmt.Println("| | keys stored per second | keys worked on per second |\n|---|---:|---:|")
	for _, c := range all {
		fmt.Printf("| %s | %.0f | %.0f |\n", c.name, median(c.stored), median(c.worked))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal("bench: ", err)
	}
}

func must[V any](v V, err error) V { check(err); return v }

func median(all []float64) float64 { slices.Sort(all); return all[len(all)/2] }

// measure does not measure the start, nor the end.
func (c *contestant) measure(n int) {
	dir := must(os.MkdirTemp("", "shardq-bench-"))
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	s := c.open(ctx, dir)
	defer s.close()
	defer cancel()
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("invoice/%d", i)
	}
	begin := time.Now()
	for some := range slices.Chunk(keys, batch) {
		s.store(some)
	}
	middle, handled := time.Now(), make(chan struct{}, n)
	s.work(func() { handled <- struct{}{} })
	for range n {
		<-handled
	}
	c.stored = append(c.stored, float64(n)/middle.Sub(begin).Seconds())
	c.worked = append(c.worked, float64(n)/time.Since(middle).Seconds())
}

func clustered(replicas, nodes int) func(context.Context, string) system {
	return func(ctx context.Context, dir string) system {
		servers := must(clustertest.New(dir, replicas))
		all := make([]*cluster.Node[string], nodes)
		for i := range all {
			all[i] = must(cluster.Join(ctx, cluster.Options[string]{Name: "bench", Servers: servers.URLs(), Replicas: replicas}))
		}
		var running sync.WaitGroup
		return system{
			store: func(keys []string) { check(all[0].AddAll(ctx, keys...)) },
			work: func(done func()) {
				for _, node := range all {
					running.Go(func() {
						check(node.Run(ctx, workers, func(context.Context, cluster.Claim[string]) error { done(); return nil }))
					})
				}
			},
			close: func() {
				running.Wait()
				for _, node := range all {
					check(node.Close())
				}
				servers.Close()
			},
		}
	}
}
