package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// The parts of a trial. Each has latencies of its own.
const (
	partInitial = "initial list"
	partAmid    = "changes amid the initial list"
	partBurst   = "bursts"
	partFlood   = "flood"
	partQuiet   = "others beside the flood"
	partFaults  = "faults"
)

// options configure a trial.
type options struct {
	tasks, workers, rounds int
	down                   time.Duration // how long the API server is down
	work                   time.Duration // of each reconcile
	faults                 bool
}

// A trial runs managers with one queue after another over the same tasks.
type trial struct {
	options
	server *server
	proxy  *proxy
	tasks  *tasks
	log    func(format string, args ...any)
}

// An outcome is what a trial found about a queue.
type outcome struct {
	queue     string
	report    report // of the first manager
	processor time.Duration
	initial   time.Duration // from its start until all tasks were reconciled
	// changes is how many changes there were without those of faults, with the
	// initial list as changes, and writes how many writes the API server
	// accepted for each.
	changes  int
	writes   float64
	overlaps int64
	left     int      // tasks that were not reconciled at the end
	faults   []string // the faults that were survived
}

// run runs the whole trial of a queue.
func (t *trial) run(ctx context.Context, queue string) (o outcome, err error) {
	o.queue = queue
	t.proxy.writes.Store(0)
	t.proxy.overlap.Store(0)
	manager := managerOptions{queue, t.proxy.server.URL, t.tasks.beginRound(), t.workers, t.down, t.work}
	first, err := startProcess(manager)
	if err != nil {
		return o, err
	}
	defer first.kill()
	start := time.Now()
	amid, err := t.initialList(ctx)
	if err != nil {
		return o, err
	}
	o.initial = time.Since(start)
	t.log("%s: initial list reconciled after %v", queue, o.initial.Round(time.Millisecond))
	burst, err := t.bursts(ctx)
	if err != nil {
		return o, err
	}
	t.log("%s: bursts", queue)
	flood, err := t.flooded(ctx)
	if err != nil {
		return o, err
	}
	t.log("%s: flood", queue)
	o.changes = len(t.tasks.keys) + amid + burst + flood
	o.writes = float64(t.proxy.writes.Load()) / float64(o.changes)
	last := first
	if t.faults {
		if err := t.apiFaults(ctx, &o); err != nil {
			return o, err
		}
		second, err := startProcess(manager) // stands by
		if err != nil {
			return o, err
		}
		defer second.kill()
		if last, err = t.endings(ctx, manager, first, second, &o); err != nil {
			return o, err
		}
		defer last.kill()
	} else if o.report, o.processor, err = first.stop(); err != nil {
		return o, err
	}
	o.left = t.tasks.left()
	if o.overlaps = t.proxy.overlap.Load(); o.overlaps > 0 || o.report.Doubled > 0 {
		err = fmt.Errorf("%s: %d reconciles of a task overlapped, and %d writes", queue, o.report.Doubled, o.overlaps)
	}
	if last != first {
		later, _, stopped := last.stop()
		if err = errors.Join(err, stopped); later.Doubled > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %d reconciles of a task overlapped after a restart", queue, later.Doubled))
		}
	}
	return o, err
}

// settle waits until no task is left to reconcile.
func (t *trial) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	return t.tasks.wait(ctx)
}

// initialList changes a task now and then until the initial list is reconciled.
func (t *trial) initialList(ctx context.Context) (changes int, err error) {
	for t.tasks.left() == len(t.tasks.keys) { // until the manager begins
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return 0, err
		}
	}
	for most := len(t.tasks.keys) / 20; changes < most && t.tasks.left() > len(t.tasks.keys)/10; changes++ {
		if err := t.tasks.change(ctx, t.any(), partAmid); err != nil {
			return changes, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return changes, err
		}
	}
	return changes, t.settle(ctx)
}

// any returns a task of a namespace that does not flood.
func (t *trial) any() string {
	return t.tasks.keys[t.tasks.flood+rand.IntN(len(t.tasks.keys)-t.tasks.flood)]
}

// bursts changes a tenth of the tasks three times in quick succession.
func (t *trial) bursts(ctx context.Context) (changes int, err error) {
	keys := t.tasks.keys[t.tasks.flood : t.tasks.flood+len(t.tasks.keys)/10]
	for range 3 {
		if err := t.tasks.changeAll(ctx, keys, partBurst); err != nil {
			return changes, err
		}
		changes += len(keys)
	}
	return changes, t.settle(ctx)
}

// flooded changes all tasks of one namespace, while the others have a change
// now and then.
func (t *trial) flooded(ctx context.Context) (changes int, err error) {
	flood := make(chan error, 1)
	go func() { flood <- t.tasks.changeAll(ctx, t.tasks.keys[:t.tasks.flood], partFlood) }()
	for {
		select {
		case err := <-flood:
			return changes + t.tasks.flood, errors.Join(err, t.settle(ctx))
		default:
		}
		if err := errors.Join(t.tasks.change(ctx, t.any(), partQuiet), pause(ctx, 20*time.Millisecond)); err != nil {
			return changes, err
		}
		changes++
	}
}

// few returns the tasks that are changed for a fault.
func (t *trial) few() []string {
	return t.tasks.keys[t.tasks.flood : t.tasks.flood+min(2000, len(t.tasks.keys)/4)]
}

// apiFaults drops watches, makes writes slow, and takes the API server down.
func (t *trial) apiFaults(ctx context.Context, o *outcome) error {
	faults := []struct {
		name  string
		cause func() error
	}{
		{"watches dropped", func() error { t.proxy.dropWatches(); return nil }},
		{"writes slow, 200 ms each for 5 s", func() error {
			t.proxy.delay.Store(int64(200 * time.Millisecond))
			defer t.proxy.delay.Store(0)
			return pause(ctx, 5*time.Second)
		}},
		{"API server down for " + t.down.String(), func() error { return t.restart(ctx) }},
	}
	for _, f := range faults {
		if err := t.tasks.changeAll(ctx, t.few(), partFaults); err != nil {
			return err
		}
		if err := f.cause(); err != nil {
			return err
		}
		start := time.Now()
		if err := t.settle(ctx); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		o.survived(t, f.name, start)
	}
	return nil
}

func (o *outcome) survived(t *trial, fault string, start time.Time) {
	o.faults = append(o.faults, fault)
	t.log("%s: %s; all reconciled %v later", o.queue, fault, time.Since(start).Round(time.Millisecond))
}

// restart takes the API server down for a while.
func (t *trial) restart(ctx context.Context) error {
	t.proxy.target.Store(nil)
	t.proxy.dropWatches()
	t.server.stopAPI()
	if err := pause(ctx, t.down); err != nil {
		return err
	}
	if err := t.server.startAPI(); err != nil {
		return err
	}
	t.proxy.target.Store(t.server)
	return nil
}

// endings ends managers in the midst of work: the leader by SIGTERM, so that
// the one that stands by takes over, and that one by SIGKILL, so that another
// has to start with the full list. It returns the last.
func (t *trial) endings(ctx context.Context, m managerOptions, first, second *process, o *outcome) (last *process, err error) {
	if err := t.tasks.changeAll(ctx, t.few(), partFaults); err != nil {
		return first, err
	}
	if o.report, o.processor, err = first.stop(); err != nil {
		return second, err
	}
	start := time.Now()
	if err := t.settle(ctx); err != nil {
		return second, fmt.Errorf("after the leader changed: %w", err)
	}
	o.survived(t, "SIGTERM, and another leader", start)
	if err := t.tasks.changeAll(ctx, t.few(), partFaults); err != nil {
		return second, err
	}
	second.kill()
	start = time.Now()
	third, err := startProcess(m)
	if err != nil {
		return second, err
	}
	if err := t.settle(ctx); err != nil {
		third.kill()
		return second, fmt.Errorf("after SIGKILL: %w", err)
	}
	o.survived(t, "SIGKILL, and a restart with the full list", start)
	return third, nil
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// split returns the namespace and the name of a key.
func split(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}

// pathOf returns the path of a task, or of all tasks of a namespace.
func pathOf(namespace, name string) string {
	path := "/apis/trial.shardq.example/v1/namespaces/" + namespace + "/tasks"
	if name != "" {
		path += "/" + name
	}
	return path
}
