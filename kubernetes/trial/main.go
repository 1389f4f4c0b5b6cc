// Trial runs a controller of controller-runtime under load, on the queues of
// client-go, of controller-runtime and of shardq in turn, and makes faults
// meanwhile:
//
//	go run -C kubernetes/trial . -tasks 10000
//
// It starts etcd and an API server for custom resources in this process, and
// each manager in a process of its own, which talks to the API server through a
// proxy. The proxy counts what the API server accepts, drops watches, delays
// writes, and is unreachable while the API server is down.
//
// The program fails if a task is not reconciled, or reconciled twice at once.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.IntVar(&o.tasks, "tasks", 10_000, "the number of custom resources")
	flag.IntVar(&o.workers, "workers", 50, "the number of concurrent reconciles")
	flag.DurationVar(&o.down, "down", 30*time.Second, "how long the API server is down")
	flag.DurationVar(&o.work, "work", 0, "how long a reconcile works beside its calls, as if it called another service")
	flag.IntVar(&o.rounds, "rounds", 1, "how often each queue has its turn; the table has the medians")
	flag.BoolVar(&o.faults, "faults", true, "whether there are faults")
	queues := flag.String("queues", strings.Join(queueNames, ","), "the queues to compare")
	address := flag.String("manager", "", "used by the program itself: be a manager, with the API server at this URL")
	round := flag.Int64("round", 0, "used by the program itself")
	flag.Parse()
	if *address != "" {
		return runManager(ctx, managerOptions{*queues, *address, *round, o.workers, o.down, o.work})
	}
	names, err := o.validate(*queues)
	if err != nil {
		return err
	}
	return compare(ctx, o, names)
}

func (o options) validate(queues string) (names []string, err error) {
	names = strings.Split(queues, ",")
	for _, name := range names {
		if _, err := newQueueOf(name, o.workers, nil); err != nil {
			return nil, err
		}
	}
	if o.tasks < 100 || o.workers < 1 || o.rounds < 1 || o.down < 0 || o.work < 0 {
		return nil, fmt.Errorf("want at least 100 tasks, a worker and a round, and a -down and -work of 0 or more")
	}
	return names, nil
}

// compare runs the trial of each queue, and prints what it found.
func compare(ctx context.Context, o options, names []string) error {
	begin := time.Now()
	log := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	defer s.stop()
	all := newTasks(o.tasks)
	p := newProxy(s, all)
	all.target = &p.target
	log("the API server runs")
	if err := all.define(ctx); err != nil {
		return err
	}
	if err := all.create(ctx); err != nil {
		return err
	}
	log("%d tasks are made", o.tasks)
	t := &trial{options: o, server: s, proxy: p, tasks: all, log: log}
	found := map[string][]outcome{}
	for round := range o.rounds {
		for i := range names { // another one begins each round
			name := names[(round+i)%len(names)]
			one, err := t.run(ctx, name)
			if err != nil {
				return err
			}
			found[name] = append(found[name], one)
		}
	}
	var outcomes []outcome
	for _, name := range names {
		outcomes = append(outcomes, medianOf(found[name]))
	}
	printOutcomes(os.Stdout, o, outcomes)
	return nil
}
