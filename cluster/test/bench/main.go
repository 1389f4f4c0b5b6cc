// Command bench compares package cluster with a plain JetStream consumer, and
// with asynq if there is a redis-server, in turns, on servers of its own.
//
//	go run -C cluster/test ./bench
package main

import (
	"context"
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
)

// A phases is how long storing keys took, and working on them.
type phases [2]time.Duration

// A system stores keys on servers with their data in dir, and works on them.
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

// compare measures the systems in turns, and prints the medians.
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

// rate returns the median of a phase as keys per second.
func rate(keys int, results []phases, phase int) float64 {
	slices.SortFunc(results, func(a, b phases) int { return int(a[phase] - b[phase]) })
	return float64(keys) / results[len(results)/2][phase].Seconds()
}
