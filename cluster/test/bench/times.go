package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shardq/shardq/cluster"
)

// A figure is something that is measured in one number or two.
type figure struct {
	name    string
	measure func(ctx context.Context, dir string) (string, error)
}

// shortLease is that of the measurements of what happens to partitions.
const shortLease = 2 * time.Second

func figures() []figure {
	return []figure{
		{"R1: from Add to handler at half load, p50 / p99", latency(1, 100_000)},
		{"R3: from Add to handler at half load, p50 / p99", latency(3, 50_000)},
		{"R3: the longest wait for a handler after a crash, lease of 2 s", handOver(func(stop func(), node *cluster.Node[string]) { _ = node.Close() })},
		{"R3: the longest wait for a handler after a clean leave", handOver(func(stop func(), node *cluster.Node[string]) { go stop() })},
		{"R1: memory of an idle partition, of server and owner", memory},
	}
}

// printFigures prints a table of the figures.
func printFigures(ctx context.Context, o options) error {
	fmt.Println("\n| | |\n|---|---:|")
	for _, f := range figures() {
		if !strings.Contains(f.name, o.only) {
			continue
		}
		dir, err := os.MkdirTemp("", "shardq-bench-")
		if err != nil {
			return err
		}
		text, err := f.measure(ctx, dir)
		_ = os.RemoveAll(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Printf("| %s | %s |\n", f.name, text)
	}
	return nil
}

// latency measures the time from the call of Add to the handler, while keys
// are added at half the rate that the system can do.
func latency(replicas, keys int) func(context.Context, string) (string, error) {
	return func(ctx context.Context, dir string) (string, error) {
		_, full, err := flow(ctx, dir+"/full", replicas, keys, 0)
		if err != nil {
			return "", err
		}
		most := float64(keys) / full.Seconds()
		took, _, err := flow(ctx, dir+"/half", replicas, keys, most/2)
		if err != nil {
			return "", err
		}
		slices.Sort(took)
		return fmt.Sprintf("%v / %v at %.0f keys/s", took[keys/2].Round(10*time.Microsecond),
			took[keys*99/100].Round(10*time.Microsecond), most/2), nil
	}
}

// flow adds keys, at a rate if that is not 0, while a node works on them. It
// returns the time that each took from its Add to the handler, and the time of
// all.
func flow(ctx context.Context, dir string, replicas, n int, rate float64) (took []time.Duration, all time.Duration, err error) {
	const lanes = 256
	c, err := openNodes(ctx, dir, replicas, 1, 16, 0)
	if err != nil {
		return nil, 0, err
	}
	defer c.close()
	began := make([]time.Time, n)
	took = make([]time.Duration, n)
	var left sync.WaitGroup
	left.Add(n)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- c.nodes[0].Run(ctx, workers, func(_ context.Context, claim cluster.Claim[string]) error {
			i, err := strconv.Atoi(claim.Key)
			if err == nil && took[i] == 0 {
				took[i] = time.Since(began[i])
				left.Done()
			}
			return err
		})
	}()
	if err := owns(ctx, c.nodes[:1], 16); err != nil {
		return nil, 0, err
	}
	var adding sync.WaitGroup
	start := time.Now()
	for lane := range lanes {
		adding.Go(func() {
			for i := lane; i < n; i += lanes {
				if rate > 0 {
					time.Sleep(time.Until(start.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
				}
				began[i] = time.Now()
				if err := c.nodes[0].Add(ctx, strconv.Itoa(i)); err != nil {
					panic(err)
				}
			}
		})
	}
	adding.Wait()
	left.Wait()
	all = time.Since(start)
	cancel()
	return took, all, <-ended
}

// owns waits until the nodes have all partitions.
func owns(ctx context.Context, nodes []*cluster.Node[string], partitions int) error {
	for ctx.Err() == nil {
		n := 0
		for _, node := range nodes {
			n += node.Stats().Partitions
		}
		if n == partitions {
			return nil
		}
		time.Sleep(10 * time.Millisecond) // nobody tells
	}
	return ctx.Err()
}

// handOver measures how long keys wait that are added when one of two nodes
// ends.
func handOver(end func(stop func(), node *cluster.Node[string])) func(context.Context, string) (string, error) {
	const partitions, keys = 16, 200
	return func(ctx context.Context, dir string) (string, error) {
		c, err := openNodes(ctx, dir, 3, 3, partitions, shortLease)
		if err != nil {
			return "", err
		}
		defer c.close()
		handled := make(chan string, 10*keys)
		stops := make([]func(), 2)
		for i := range stops {
			running, cancel := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = c.nodes[i].Run(running, workers, func(_ context.Context, claim cluster.Claim[string]) error {
					handled <- claim.Key
					return nil
				})
			}()
			stops[i] = func() { cancel(); <-done }
		}
		for c.nodes[0].Stats().Partitions == 0 || c.nodes[1].Stats().Partitions == 0 || owns(ctx, c.nodes[:2], partitions) != nil {
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			time.Sleep(10 * time.Millisecond)
		}
		begin := time.Now()
		end(stops[0], c.nodes[0])
		var all []string
		for i := range keys {
			all = append(all, fmt.Sprint("key ", i))
		}
		if err := c.nodes[2].AddAll(ctx, all...); err != nil {
			return "", err
		}
		for seen := map[string]bool{}; len(seen) < keys; {
			seen[<-handled] = true
		}
		took := time.Since(begin)
		stops[1]()
		return took.Round(10 * time.Millisecond).String(), nil
	}
}

// memory measures what an idle partition takes.
func memory(ctx context.Context, dir string) (string, error) {
	var heap [2]uint64
	counts := [2]int{16, 256}
	for i, partitions := range counts {
		c, err := openNodes(ctx, fmt.Sprintf("%s/%d", dir, i), 1, 1, partitions, 0)
		if err != nil {
			return "", err
		}
		running, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- c.nodes[0].Run(running, workers, func(context.Context, cluster.Claim[string]) error { return nil })
		}()
		if err := owns(ctx, c.nodes, partitions); err != nil {
			cancel()
			return "", err
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap[i] = m.HeapInuse + m.StackInuse
		cancel()
		if err := <-ended; err != nil {
			return "", err
		}
		c.close()
	}
	return fmt.Sprintf("%d KiB", (heap[1]-heap[0])/uint64(counts[1]-counts[0])>>10), nil
}
