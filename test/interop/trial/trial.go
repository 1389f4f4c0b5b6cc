//go:build trial

package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"
)

type trial struct {
	options
	server *server
	proxy  *proxy
	tasks  *tasks
}

// After each phase all tasks must be reconciled.
func (t *trial) run(ctx context.Context, queue string) error {
	t.tasks.round++
	o := t.options
	o.queues, o.manager, o.round = queue, t.proxy.server.URL, t.tasks.round
	managers := []*process{}
	start := func() error {
		p, err := startProcess(o)
		if err == nil {
			managers = append(managers, p)
		}
		return err
	}
	defer func() {
		for _, p := range managers {
			p.kill()
		}
	}()
	others := t.tasks.keys[t.tasks.flood:]
	few := others[:min(2000, len(t.tasks.keys)/4)]
	phases := []struct {
		name string
		do   func() error
	}{
		{"the initial list, and changes amid it", func() error {
			return errors.Join(start(), t.tasks.change(ctx, others[len(others)/2:]...))
		}},
		{"bursts of changes", func() error {
			return errors.Join(t.tasks.change(ctx, few...), t.tasks.change(ctx, few...), t.tasks.change(ctx, few...))
		}},
		{"a namespace that floods", func() error { return t.tasks.change(ctx, t.tasks.keys[:t.tasks.flood]...) }},
		{"watches dropped", func() error {
			t.proxy.dropWatches()
			return t.tasks.change(ctx, few...)
		}},
		{"writes slow, 200 ms each for 5 s", func() error {
			t.proxy.delay.Store(int64(200 * time.Millisecond))
			defer t.proxy.delay.Store(0)
			return errors.Join(t.tasks.change(ctx, few...), pause(ctx, 5*time.Second))
		}},
		{"API server down for " + t.down.String(), func() error {
			return errors.Join(t.tasks.change(ctx, few...), t.restart(ctx))
		}},
		{"SIGTERM, and another leader", func() error {
			err := errors.Join(start(), t.tasks.change(ctx, few...)) // one stands by
			first := managers[0]
			managers = managers[1:]
			return errors.Join(err, first.stop())
		}},
		{"SIGKILL, and a restart, which waits for the lease of " + t.lease().String(), func() error {
			err := t.tasks.change(ctx, few...)
			managers[0].kill()
			managers = nil
			return errors.Join(err, start())
		}},
	}
	for _, p := range phases {
		begin := time.Now()
		if err := errors.Join(p.do(), t.tasks.settle(ctx)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		log.Printf("%s: %s: all reconciled after %v", queue, p.name, time.Since(begin).Round(time.Millisecond))
	}
	last := managers[0]
	managers = nil
	if overlaps := t.proxy.overlap.Load(); overlaps > 0 {
		return errors.Join(last.stop(), fmt.Errorf("%d writes of a task overlapped", overlaps))
	}
	return last.stop()
}

func (t *trial) restart(ctx context.Context) error {
	t.proxy.target.Store(nil)
	t.proxy.dropWatches()
	t.server.api.TearDownFn() // etcd runs on
	if err := pause(ctx, t.down); err != nil {
		return err
	}
	if err := t.server.startAPI(); err != nil {
		return err
	}
	t.proxy.target.Store(t.server)
	return nil
}
