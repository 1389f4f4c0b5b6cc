// Command cluster counts the identifiers of Go's source with a queue that three
// processes share, while some of them fail.
//
// With no arguments it starts three NATS servers and three workers, which are
// processes of this program. It puts each identifier that it finds into the
// queue, once for each time that it finds it. The workers count them in a
// SQLite database. Meanwhile the program kills a worker, freezes another, and
// stops a server. At the end it compares the database with its own counts.
//
//	go run -C examples ./cluster
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
	"strings"
	"syscall"
	"time"
)

// options are the command's flags.
type options struct {
	directory string
	events    int
	servers   string
	listen    string
	// A worker's process has these.
	worker   bool
	database string
}

func main() {
	var o options
	flag.StringVar(&o.directory, "dir", "", "the directory of Go source to read, by default that of the Go installation")
	flag.IntVar(&o.events, "events", 30_000, "how many identifiers to count")
	flag.StringVar(&o.servers, "servers", "", "the URLs of NATS servers to use, with commas; none are stopped then")
	flag.StringVar(&o.listen, "listen", "", "an address for the live page, such as 127.0.0.1:8080")
	flag.BoolVar(&o.worker, "worker", false, "used by the program itself: be a worker")
	flag.StringVar(&o.database, "database", "", "used by the program itself: the file of the database")
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
	case o.worker:
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
	if err := room(dir, roomToRun); err != nil {
		return err
	}
	o.database = filepath.Join(dir, "counts.db")
	t := &trial{options: o, put: map[string]int{}, begin: time.Now()}
	defer t.close()
	if err = t.open(ctx, dir); err == nil {
		err = t.run(ctx)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if err != nil {
		return err
	}
	return t.report(os.Stdout, time.Since(t.begin))
}
