// Command cluster counts the identifiers of Go's source with a queue that three
// processes share, while some of them fail.
//
// The workers are processes of this program, and count in a SQLite database.
// Meanwhile it kills a worker, freezes another that is about to write, and stops
// one of three NATS servers. At the end it compares the counts.
//
//	go run -C examples ./cluster
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/shardq/shardq/cluster"
)

type options struct {
	directory, servers, listen string
	events                     int
	database                   string // makes the process a worker
	waits                      bool   // makes it a worker that waits before its first write
}

func main() {
	var o options
	flag.StringVar(&o.directory, "dir", "", "the directory of Go source to read, by default that of the Go installation")
	flag.IntVar(&o.events, "events", 30_000, "how many identifiers to count")
	flag.StringVar(&o.servers, "servers", "", "the URLs of NATS servers to use, with commas; none are stopped then")
	flag.StringVar(&o.listen, "listen", "", "an address for the live page, such as 127.0.0.1:8080")
	flag.StringVar(&o.database, "database", "", "used by the program itself: be a worker with this file as the database")
	flag.BoolVar(&o.waits, "waits", false, "used by the program itself: wait before the first write for the end of the standard input")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", strings.TrimPrefix(err.Error(), "cluster: "))
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("want no arguments: %q", flag.Args())
	case o.events < 1:
		return fmt.Errorf("-events is %d: want 1 or more", o.events)
	case o.database != "":
		return work(ctx, o)
	}
	if o.directory == "" {
		root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("find the Go installation: %w: want -dir", err)
		}
		o.directory = filepath.Join(strings.TrimSpace(string(root)), "src")
	}
	dir, err := os.MkdirTemp("", "shardq-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.database = filepath.Join(dir, "counts.db")
	t := &trial{options: o, put: map[string]int{}, begin: time.Now()}
	defer t.close()
	if err = t.open(ctx, dir); err == nil {
		err = t.run(ctx)
	}
	if ctx.Err() != nil {
		t.say("interrupted after %d of %d events", t.progress.Load(), o.events)
		return nil
	}
	if err != nil {
		return err
	}
	return t.report(ctx)
}

func (o options) settings(replicas int) cluster.Options[string] {
	return cluster.Options[string]{
		Name: "identifiers", Servers: o.servers, Replicas: replicas, Partitions: 16, Lease: 3 * time.Second, Values: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

func work(ctx context.Context, o options) error {
	s, err := openSink(o.database)
	if err != nil {
		return err
	}
	defer s.db.Close()
	node, err := cluster.Join(ctx, o.settings(0)) // the queue is there
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer node.Close()
	if o.waits { // in one worker: another could keep the database locked
		return node.Run(ctx, 1, s.countLate(os.Stdin))
	}
	return node.Run(ctx, 4, s.count)
}
