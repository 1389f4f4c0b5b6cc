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
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
	"github.com/shardq/shardq/cluster/page"
	"golang.org/x/sync/errgroup"
)

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
	ends     []func() // what ends all that has begun, but the workers
}

const (
	workers  = 3
	patience = 2 * time.Minute // while servers are away
)

func (t *trial) open(ctx context.Context, dir string) (err error) {
	o, replicas := t.options, 1
	if o.servers == "" {
		if t.servers, err = clustertest.New(dir, 3); err != nil {
			return err
		}
		t.ends = append(t.ends, t.servers.Close)
		t.options.servers, replicas = t.servers.URLs(), 3
		t.say("three NATS servers run")
	}
	if t.node, err = cluster.Join(ctx, t.options.settings(replicas)); err != nil {
		return err
	}
	t.ends = append(t.ends, func() { _ = t.node.Close() })
	if t.sink, err = openSink(o.database); err != nil {
		return err
	}
	t.ends = append(t.ends, func() { _ = t.sink.db.Close() })
	if o.listen != "" {
		err = t.serve(o.listen)
	}
	for i := 0; i < workers && err == nil; i++ {
		err = t.spawn()
	}
	if err == nil {
		t.say("%d workers run", workers)
	}
	return err
}

func (t *trial) say(format string, arguments ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(t.begin).Seconds(), fmt.Sprintf(format, arguments...))
}

func (t *trial) serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := &http.Server{Handler: page.Handler(t.node), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.Serve(l) }()
	t.ends = append(t.ends, func() { _ = s.Close() })
	t.say("the live page is at http://%s/", l.Addr())
	return nil
}

func (t *trial) spawn() error {
	_, _, err := t.spawnWith()
	return err
}

func (t *trial) spawnWith(arguments ...string) (w *exec.Cmd, input io.Closer, err error) {
	w = exec.Command(os.Args[0], append([]string{"-servers", t.options.servers, "-database", t.options.database}, arguments...)...)
	w.Stderr = os.Stderr
	if input, err = w.StdinPipe(); err == nil {
		err = w.Start()
	}
	if err == nil {
		t.workers = append(t.workers, w)
	}
	return w, input, err
}

func (t *trial) run(ctx context.Context) error {
	both, running := errgroup.WithContext(ctx)
	both.Go(func() error { return t.feed(running) })
	both.Go(func() error { return t.fail(running) })
	if err := both.Wait(); err != nil {
		return err
	}
	t.say("%d identifiers are in the queue, or counted", t.options.events)
	return t.waitUntilCounted(ctx)
}

func (t *trial) fail(ctx context.Context) error {
	for _, each := range []struct {
		part  float64
		fault func(context.Context) error
	}{{0.2, t.killWorker}, {0.4, t.freezeWorker}, {0.7, t.stopServer}} {
		for float64(t.progress.Load()) < each.part*float64(t.options.events) {
			if wait(ctx, 10*time.Millisecond); ctx.Err() != nil {
				return nil // interrupted: feed says so
			}
		}
		if err := each.fault(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) killWorker(context.Context) error {
	victim := t.workers[0]
	if err := victim.Process.Kill(); err != nil {
		return err
	}
	_ = victim.Wait()
	t.workers = t.workers[1:]
	t.say("worker %d is killed, and another starts", victim.Process.Pid)
	return t.spawn()
}

// freezeWorker freezes a worker that is about to write, until another has its
// partition and has written. Then its own write must be refused.
func (t *trial) freezeWorker(ctx context.Context) error {
	victim, input, err := t.spawnWith("-waits")
	if err != nil {
		return err
	}
	defer input.Close()
	var partition, epoch uint64
	if err := t.sink.waitFor(ctx, `SELECT partition, epoch FROM waiting`, nil, &partition, &epoch); err != nil {
		return fmt.Errorf("wait for a worker that is about to write: %w", err)
	}
	if err := freeze(victim); err != nil {
		t.say("no worker is frozen: %v", err)
		return nil
	}
	t.say("worker %d is frozen just before it writes", victim.Process.Pid)
	fence, found := []any{partition, epoch}, 0
	if err := t.sink.waitFor(ctx, `SELECT 1 FROM fences WHERE partition = ? AND epoch > ?`, fence, &found); err != nil {
		return fmt.Errorf("wait for another owner: %w", err)
	}
	t.say("worker %d goes on, and writes: another has its partition by now", victim.Process.Pid)
	if err := errors.Join(input.Close(), thaw(victim)); err != nil {
		return err
	}
	if err := t.sink.waitFor(ctx, `SELECT 1 FROM refused WHERE partition = ? AND epoch = ?`, fence, &found); err != nil {
		return fmt.Errorf("the late write was not refused: %w", err)
	}
	t.say("its write is refused")
	return nil
}

func (t *trial) stopServer(context.Context) error {
	if t.servers == nil {
		return nil
	}
	i, _ := t.servers.Leader("shardq-identifiers-state") // the first, if none leads
	t.say("server %d is stopped", i)
	t.servers.Stop(i)
	err := t.servers.Restart(i)
	if err == nil {
		t.say("server %d is back", i)
	}
	return err
}

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
		wait(ctx, time.Second)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (t *trial) report(ctx context.Context) error {
	counts, err := t.sink.counts(ctx)
	p, unread := t.sink.proof(ctx)
	if err := errors.Join(err, unread); err != nil {
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
	fmt.Printf(`%9d  events were put
%9d  identifiers they are of
%9d  writes were accepted, each with the events of an identifier that were pending
%9d  times a partition had a new owner
%9d  events came once more, and were left out by their sequence
%9d  stale writes were refused
%9d  stale writes were accepted
%9d  identifiers have a wrong count
%9.1f  seconds in all
`, t.options.events, len(t.put), p.writes, p.takeovers, p.repeated, p.refused, p.stale, wrong, time.Since(t.begin).Seconds())
	if wrong > 0 || p.stale > 0 {
		return errors.New("the database does not agree")
	}
	fmt.Println("Every event counts exactly once.")
	return nil
}

func (t *trial) close() {
	for _, w := range t.workers {
		_ = w.Process.Kill()
		_ = w.Wait()
	}
	for _, end := range slices.Backward(t.ends) {
		end()
	}
}
