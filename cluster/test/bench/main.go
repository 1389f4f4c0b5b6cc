// Command bench compares package cluster with a plain JetStream consumer and
// with asynq, in turns, on servers in this process.
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
	"text/tabwriter"
	"time"
)

// options are the command's flags.
type options struct {
	keys, rounds, partitions int
	only                     string
}

// A system stores keys and works on them.
type system interface {
	// store stores keys, and returns when all are stored.
	store(ctx context.Context, keys []string) error
	// work calls done for each key, and returns when it was called for n keys.
	work(ctx context.Context, n int, done func(key string)) error
	close()
}

// A subject is a system that is measured.
type subject struct {
	name string
	open func(ctx context.Context, dir string, o options) (system, error)
}

func main() {
	var o options
	flag.IntVar(&o.keys, "keys", 100_000, "the number of keys")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each system has its turn; the table has the medians")
	flag.IntVar(&o.partitions, "partitions", 16, "the number of partitions")
	flag.StringVar(&o.only, "only", "", "measure only the systems whose names contain this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A result is how long the phases took.
type result struct{ stored, worked time.Duration }

func run(ctx context.Context, o options) error {
	if o.keys < 1 || o.rounds < 1 {
		return errors.New("want -keys and -rounds of 1 or more")
	}
	results := map[string][]result{}
	for range o.rounds {
		for _, s := range subjects() {
			if !strings.Contains(s.name, o.only) {
				continue
			}
			r, err := measure(ctx, s, o)
			if errors.Is(err, errNotHere) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			fmt.Fprintf(os.Stderr, "%-40s stored in %v, worked in %v\n", s.name, r.stored.Round(time.Millisecond), r.worked.Round(time.Millisecond))
			results[s.name] = append(results[s.name], r)
		}
	}
	fmt.Printf("%d keys, %d partitions, medians of %d rounds, %d processors, %s, %s\n\n",
		o.keys, o.partitions, o.rounds, runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| \t| keys stored per second \t| keys worked on per second \t|")
	fmt.Fprintln(table, "|---\t|---:\t|---:\t|")
	for _, s := range subjects() {
		if rs := results[s.name]; rs != nil {
			fmt.Fprintf(table, "| %s \t| %.0f \t| %.0f \t|\n", s.name,
				rate(o.keys, rs, func(r result) time.Duration { return r.stored }),
				rate(o.keys, rs, func(r result) time.Duration { return r.worked }))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return printFigures(ctx, o)
}

// rate returns the median of a phase as keys per second.
func rate(keys int, rs []result, phase func(result) time.Duration) float64 {
	var all []time.Duration
	for _, r := range rs {
		all = append(all, phase(r))
	}
	slices.Sort(all)
	return float64(keys) / all[len(all)/2].Seconds()
}

func measure(ctx context.Context, s subject, o options) (r result, err error) {
	dir, err := os.MkdirTemp("", "shardq-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	one, err := s.open(ctx, dir, o)
	if err != nil {
		return r, err
	}
	defer one.close()
	keys := make([]string, o.keys)
	for i := range keys {
		keys[i] = fmt.Sprintf("invoice/%d", i)
	}
	begin := time.Now()
	if err := one.store(ctx, keys); err != nil {
		return r, err
	}
	r.stored = time.Since(begin)
	begin = time.Now()
	err = one.work(ctx, o.keys, func(string) {})
	r.worked = time.Since(begin)
	return r, err
}
