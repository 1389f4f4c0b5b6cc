package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/cluster/page"
)

// A trial is one run of the program.
type trial struct {
	options  options
	servers  *clustertest.Servers // nil with -servers
	node     *cluster.Node[string]
	sink     *sink
	workers  []*exec.Cmd
	put      map[string]int // by identifier
	progress atomic.Int64
	begin    time.Time
	warned   sync.Once
	page     *http.Server // nil without -listen
}

const workers = 3

func (t *trial) open(ctx context.Context, dir string) (err error) {
	o, replicas := t.options, 1
	if o.servers == "" {
		if t.servers, err = clustertest.New(dir, 3); err != nil {
			return err
		}
		t.options.servers, replicas = t.servers.URLs(), 3
		t.say("three NATS servers run")
	}
	if t.node, err = cluster.Join(ctx, t.options.settings(replicas)); err != nil {
		return err
	}
	if t.sink, err = openSink(o.database); err != nil {
		return err
	}
	if o.listen != "" {
		if err := t.serve(o.listen); err != nil {
			return err
		}
	}
	for range workers {
		if err := t.spawn(); err != nil {
			return err
		}
	}
	t.say("%d workers run", workers)
	return nil
}

func (t *trial) say(format string, arguments ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(t.begin).Seconds(), fmt.Sprintf(format, arguments...))
}

func (t *trial) serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	t.page = &http.Server{Handler: page.Handler(t.node), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = t.page.Serve(l) }()
	t.say("the live page is at http://%s/", l.Addr())
	return nil
}

// spawn starts a worker.
func (t *trial) spawn() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := exec.Command(self, "-worker", "-servers", t.options.servers, "-database", t.options.database)
	w.Stderr = os.Stderr
	if err := w.Start(); err != nil {
		return err
	}
	t.workers = append(t.workers, w)
	return nil
}

// run feeds the queue, lets things fail, and waits until all is counted.
func (t *trial) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failing sync.WaitGroup
	var fault error
	failing.Go(func() {
		if fault = t.fail(ctx); fault != nil {
			cancel()
		}
	})
	err := t.feed(ctx)
	if err != nil {
		cancel()
	}
	failing.Wait()
	if err = errors.Join(fault, err); err != nil {
		return err
	}
	t.say("%d identifiers are in the queue, or counted", t.options.events)
	return t.waitUntilCounted(ctx)
}

// feeders is the number of puts that wait for the servers at a time.
const feeders = 64

// feed puts the identifiers into the queue. Each put has an id, so that it can
// be repeated when its answer was lost. It ends at the first that fails.
func (t *trial) feed(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var group sync.WaitGroup
	lanes := make(chan struct{}, feeders)
	n := 0
	err := identifiers(t.options.directory, func(identifier string) bool {
		n++
		id := fmt.Sprint(n)
		t.put[identifier]++
		lanes <- struct{}{}
		group.Go(func() {
			defer func() { <-lanes }()
			if err := t.putOne(ctx, identifier, id); err != nil {
				fail(err)
			}
		})
		return n < t.options.events && ctx.Err() == nil
	})
	group.Wait()
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	if n < t.options.events {
		return fmt.Errorf("%s has %d identifiers: want -events %d or more", t.options.directory, n, t.options.events)
	}
	return nil
}

// patience limits how long servers may be away.
const patience = 2 * time.Minute

func (t *trial) putOne(ctx context.Context, identifier, id string) error {
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline) && ctx.Err() == nil; {
		err = t.node.PutOnce(ctx, identifier, []byte("1"), id)
		if err == nil {
			t.progress.Add(1)
			return nil
		}
		if full := room(filepath.Dir(t.options.database), roomToGoOn); full != nil {
			return errors.Join(err, full)
		}
		t.warned.Do(func() {
			t.say("a put has failed, and is repeated for up to %v, like others after it: %v", patience, err)
		})
	}
	return errors.Join(ctx.Err(), err)
}

// waitUntilCounted waits until nothing is pending.
func (t *trial) waitUntilCounted(ctx context.Context) error {
	for deadline := time.Now().Add(patience); ; {
		s, err := t.node.Status(ctx)
		if err == nil && s.Pending == 0 {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return errors.Join(errors.New("some identifiers are not counted"), err, ctx.Err())
		}
		t.say("%d are pending", s.Pending)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// report prints the table, and returns an error unless each event counts once
// and no stale write was accepted.
func (t *trial) report(w io.Writer, took time.Duration) error {
	ctx := context.Background()
	counts, err := t.sink.counts(ctx)
	if err != nil {
		return err
	}
	p, err := t.sink.proof(ctx)
	if err != nil {
		return err
	}
	wrong := 0
	for identifier, n := range t.put {
		if counts[identifier] != n {
			wrong++
		}
		delete(counts, identifier)
	}
	wrong += len(counts)
	fmt.Fprintf(w, "%9d  events were put\n", t.options.events)
	fmt.Fprintf(w, "%9d  identifiers they are of\n", len(t.put))
	fmt.Fprintf(w, "%9d  writes were accepted, each with the events of an identifier that were pending\n", p.writes)
	fmt.Fprintf(w, "%9d  times a partition had a new owner\n", p.takeovers)
	fmt.Fprintf(w, "%9d  events came once more, and were left out by their sequence\n", p.repeated)
	fmt.Fprintf(w, "%9d  stale writes were refused\n", p.refused)
	fmt.Fprintf(w, "%9d  stale writes were accepted\n", p.stale)
	fmt.Fprintf(w, "%9d  identifiers have a wrong count\n", wrong)
	fmt.Fprintf(w, "%9.1f  seconds in all\n", took.Seconds())
	if wrong > 0 || p.stale > 0 {
		return errors.New("the database does not agree")
	}
	fmt.Fprintln(w, "Every event counts exactly once.")
	return nil
}

// close ends all that the trial has started.
func (t *trial) close() {
	for _, w := range t.workers {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	if t.page != nil {
		_ = t.page.Close()
	}
	if t.node != nil {
		_ = t.node.Close()
	}
	if t.sink != nil {
		_ = t.sink.db.Close()
	}
	if t.servers != nil {
		t.servers.Close()
	}
}
