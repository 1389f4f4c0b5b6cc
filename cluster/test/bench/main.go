// Command bench compares package cluster with a plain JetStream consumer, in
// turns, on servers in this process.
//
//	go run -C cluster/test ./bench
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq/cluster"
)

// A phases is how long storing keys took, and working on them.
type phases [2]time.Duration

// A system stores keys on servers that keep their data in a directory, and
// works on them.
type system func(ctx context.Context, dir string, keys []string) (phases, error)

// A subject is a system that is measured.
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
	err := errors.New("want -keys and -rounds of 1 or more")
	if *keys > 0 && *rounds > 0 {
		all := slices.DeleteFunc(subjects(*partitions), func(s subject) bool { return !strings.Contains(s.name, *only) })
		if err = compare(ctx, all, *keys, *rounds); err == nil {
			err = printFigures(ctx, *only)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// compare measures the systems in turns, and prints the medians.
func compare(ctx context.Context, all []subject, n, rounds int) error {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("invoice/%d", i)
	}
	results := map[string][]phases{}
	for range rounds {
		for _, s := range all {
			err := inDirectory(func(dir string) error {
				took, err := s.system(ctx, dir, keys)
				results[s.name] = append(results[s.name], took)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
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

// rate returns the median of a phase as keys per second.
func rate(keys int, results []phases, phase int) float64 {
	slices.SortFunc(results, func(a, b phases) int { return int(a[phase] - b[phase]) })
	return float64(keys) / results[len(results)/2][phase].Seconds()
}

func inDirectory(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "shardq-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// printFigures prints a table of what is measured in one number or two.
func printFigures(ctx context.Context, only string) error {
	fmt.Println("\n| | |\n|---|---:|")
	for _, f := range []struct {
		name    string
		measure func(ctx context.Context, dir string) (string, error)
	}{
		{"R1: from Add to handler, one key at a time, p50 / p99", latency(1)},
		{"R3: from Add to handler, one key at a time, p50 / p99", latency(3)},
		{"R3: the longest wait for a handler after a crash, lease of 2 s", handOver},
	} {
		if !strings.Contains(f.name, only) {
			continue
		}
		err := inDirectory(func(dir string) error {
			text, err := f.measure(ctx, dir)
			fmt.Printf("| %s | %s |\n", f.name, text)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}

const partitions = 16

func latency(replicas int) func(context.Context, string) (string, error) {
	return func(ctx context.Context, dir string) (string, error) {
		nodes, end, err := join(ctx, dir, replicas, 1, partitions, 0)
		if err != nil {
			return "", err
		}
		defer end()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		handled := make(chan string, 1)
		work(ctx, nodes[0], handled)
		if err := own(ctx, nodes); err != nil {
			return "", err
		}
		took := make([]time.Duration, 2000)
		for i := range took {
			began := time.Now()
			if err := nodes[0].Add(ctx, fmt.Sprint(i)); err != nil {
				return "", err
			}
			<-handled
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		round := func(at int) time.Duration { return took[at].Round(10 * time.Microsecond) }
		return fmt.Sprintf("%v / %v", round(len(took)/2), round(len(took)*99/100)), nil
	}
}

// own waits until each of the nodes has partitions, and all of them have all.
func own(ctx context.Context, nodes []*cluster.Node[string]) error {
	for ctx.Err() == nil {
		all, least := 0, partitions
		for _, node := range nodes {
			n := node.Stats().Partitions
			all, least = all+n, min(least, n)
		}
		if all == partitions && least > 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond) // nobody tells
	}
	return ctx.Err()
}

// handOver measures how long keys wait that are added when one of two nodes
// crashes.
func handOver(ctx context.Context, dir string) (string, error) {
	nodes, end, err := join(ctx, dir, 3, 3, partitions, 2*time.Second)
	if err != nil {
		return "", err
	}
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys := make([]string, 200)
	for i := range keys {
		keys[i] = fmt.Sprint("key ", i)
	}
	handled := make(chan string, 10*len(keys))
	work(ctx, nodes[0], handled)
	work(ctx, nodes[1], handled)
	if err := own(ctx, nodes[:2]); err != nil {
		return "", err
	}
	begin := time.Now()
	_ = nodes[0].Close()
	if err := nodes[2].AddAll(ctx, keys...); err != nil {
		return "", err
	}
	for seen := map[string]bool{}; len(seen) < len(keys); {
		seen[<-handled] = true
	}
	return time.Since(begin).Round(10 * time.Millisecond).String(), nil
}
