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
	"text/tabwriter"
	"time"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/cluster/page"
)

// A trial is one run of the program: servers, workers, what was put, and the
// database that has to agree with it.
type trial struct {
	options  options
	servers  *clustertest.Servers // nil with -servers
	node     *cluster.Node[string]
	sink     *sink
	workers  []*exec.Cmd
	put      map[string]int // by identifier
	progress atomic.Int64
	begin    time.Time
	// warned is when a put that failed was last reported.
	warned atomic.Int64
	// page serves the live page, if it is asked for.
	page *http.Server
}

const workers = 3

func newTrial(ctx context.Context, o options, dir string) (*trial, error) {
	t := &trial{options: o, put: map[string]int{}, begin: time.Now()}
	if err := t.open(ctx, dir); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

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
	if err := errors.Join(fault, err); err != nil {
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
	for identifier, err := range identifiers(t.options.directory) {
		if err != nil {
			return err
		}
		if n == t.options.events || ctx.Err() != nil {
			break
		}
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
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
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
		t.warn(err)
	}
	return errors.Join(ctx.Err(), err)
}

// warn reports a put that has failed, and no other for five seconds.
func (t *trial) warn(err error) {
	now, last := int64(time.Since(t.begin)), t.warned.Load()
	if last != 0 && now-last < int64(5*time.Second) || !t.warned.CompareAndSwap(last, now) {
		return
	}
	t.say("a put has failed, and is repeated for up to %v: %v", patience, err)
}

// waitUntilCounted waits until nothing is pending.
func (t *trial) waitUntilCounted(ctx context.Context) error {
	shown := time.Now()
	for deadline := time.Now().Add(patience); ; {
		s, err := t.node.Status(ctx)
		if err == nil && s.Pending == 0 {
			return nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return errors.Join(errors.New("some identifiers are not counted"), err, ctx.Err())
		}
		if time.Since(shown) > 2*time.Second {
			t.say("%d are pending", s.Pending)
			shown = time.Now()
		}
		time.Sleep(50 * time.Millisecond)
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
	}
	for identifier := range counts {
		if t.put[identifier] == 0 {
			wrong++
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range []struct {
		value int
		what  string
	}{
		{t.options.events, "events were put"},
		{len(t.put), "identifiers they are of"},
		{p.writes, "writes were accepted, each with the events of an identifier that were pending"},
		{p.takeovers, "times a partition had a new owner"},
		{p.repeated, "events came once more, and were left out by their sequence"},
		{p.refused, "stale writes were refused"},
		{p.stale, "stale writes were accepted"},
		{wrong, "identifiers have a wrong count"},
	} {
		fmt.Fprintf(table, "%d\t  %s\n", row.value, row.what)
	}
	fmt.Fprintf(table, "%.1f s\t  in all\n", took.Seconds())
	if err := table.Flush(); err != nil {
		return err
	}
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
