// Controllers runs the controllers of Kubernetes under load, on the queues of
// client-go and of shardq in turn:
//
//	go run -C kubernetes/trial/controllers . -n 2000
//
// It builds kube-apiserver once and kube-controller-manager twice: as it is,
// and with shardq in the place of client-go's queues. The first time, that
// takes half an hour of processor time. For each kube-controller-manager it
// starts an etcd, in this process, and a kube-apiserver. There is no kubelet.
// Then it creates Deployments, Jobs and Namespaces, waits until the controllers
// have created what belongs to them, deletes them, and waits until all of it is
// gone.
//
// The program fails if an object lacks its dependents, has too many of them, or
// is left over.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
}

// options configure the trial.
type options struct {
	n       int           // of each kind of object
	dir     string        // has the binaries and the logs
	qps     int           // of kube-controller-manager's client
	timeout time.Duration // of a step
}

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.n, "n", 2000, "the number of Deployments, of Jobs and of Namespaces")
	flag.StringVar(&o.dir, "dir", "", "the directory of the binaries and the logs (default: shardq-controllers in the user's cache directory)")
	flag.IntVar(&o.qps, "qps", 5000, "how many requests a second kube-controller-manager may send")
	flag.DurationVar(&o.timeout, "timeout", 20*time.Minute, "how long a step may take")
	queues := flag.String("queues", strings.Join(queueNames, ","), "the queues to compare")
	only := flag.Bool("build", false, "only build the binaries")
	flag.Parse()
	names := strings.Split(*queues, ",")
	for _, name := range names {
		if !slices.Contains(queueNames, name) {
			return fmt.Errorf("no queue %q: want some of %s", name, strings.Join(queueNames, ", "))
		}
	}
	if o.n < 1 || o.qps < 1 {
		return fmt.Errorf("want a -n and a -qps of 1 or more")
	}
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.dir = filepath.Join(cache, "shardq-controllers")
	}
	begin := time.Now()
	log := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	if err := build(ctx, o.dir, names, log); err != nil || *only {
		return err
	}
	var outcomes []*outcome
	for _, name := range names {
		found, err := runTrial(ctx, o, name, log)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		outcomes = append(outcomes, found)
	}
	printOutcomes(os.Stdout, o, outcomes)
	return nil
}
