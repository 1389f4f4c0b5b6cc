//go:build trial

// Trial runs a controller of controller-runtime on several queues in turn, against
// a real API server, and makes faults meanwhile:
//
//	go run -C test/interop -tags trial ./trial -tasks 10000
//
// It has a build tag, because the API server is large. It starts etcd and an API
// server in this process, and each manager in a process of its own, behind a proxy
// that makes faults. The program fails if a task is not reconciled, or reconciled
// twice at once. It prints how long each phase took.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type options struct {
	tasks, workers int
	down           time.Duration // how long the API server is down
	queues         string
	manager        string // the URL of the API server; empty: not a manager
	round          int64
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	var o options
	flag.IntVar(&o.tasks, "tasks", 10_000, "the number of custom resources")
	flag.IntVar(&o.workers, "workers", 50, "the number of concurrent reconciles")
	flag.DurationVar(&o.down, "down", 30*time.Second, "how long the API server is down")
	flag.StringVar(&o.queues, "queues", strings.Join(queueNames, ","), "the queues to try")
	flag.StringVar(&o.manager, "manager", "", "used by the program itself: be a manager, with the API server at this URL")
	flag.Int64Var(&o.round, "round", 0, "used by the program itself")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		log.Fatalln("trial:", err)
	}
}

func run(ctx context.Context, o options) error {
	names := strings.Split(o.queues, ",")
	for _, name := range names {
		if _, err := newQueueOf(name, o.workers); err != nil {
			return err
		}
	}
	if o.tasks < 100 || o.workers < 1 || o.down < 0 {
		return errors.New("want at least 100 tasks, a worker, and a -down of 0 or more")
	}
	if o.manager != "" {
		return runManager(ctx, o)
	}
	s, err := startServer()
	if err != nil {
		return err
	}
	defer s.stop()
	all := newTasks(o.tasks, s)
	t := &trial{options: o, server: s, proxy: newProxy(s), tasks: all}
	if err := all.define(ctx); err != nil {
		return err
	}
	if err := all.create(ctx); err != nil {
		return err
	}
	log.Printf("%d tasks are made", o.tasks)
	for _, name := range names {
		if err := t.run(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
