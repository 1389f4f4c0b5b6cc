package main

import (
	"context"
	"fmt"
	"time"
)

// frozenFor is how long a worker is frozen: longer than its leases.
const frozenFor = 5 * time.Second

// fail lets things fail, at parts of the way.
func (t *trial) fail(ctx context.Context) error {
	for _, each := range []struct {
		part  float64
		fault func(context.Context) error
	}{{0.2, t.killWorker}, {0.4, t.freezeWorker}, {0.7, t.stopServer}} {
		for float64(t.progress.Load()) < each.part*float64(t.options.events) {
			select {
			case <-ctx.Done():
				return nil // interrupted: feed says so
			case <-time.After(10 * time.Millisecond):
			}
		}
		if err := each.fault(ctx); err != nil {
			return err
		}
	}
	return nil
}

// killWorker kills a worker, and starts another.
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

// freezeWorker freezes a worker for longer than its leases. A process that is
// frozen in a transaction would keep the database locked, as it would not with
// a database server: then it goes on for a moment.
func (t *trial) freezeWorker(ctx context.Context) error {
	victim := t.workers[0]
	for {
		if err := freeze(victim); err != nil {
			t.say("no worker is frozen: %v", err)
			return nil
		}
		if t.databaseIsFree(ctx) {
			break
		}
		if err := thaw(victim); err != nil {
			return err
		}
	}
	t.say("worker %d is frozen", victim.Process.Pid)
	select {
	case <-ctx.Done():
	case <-time.After(frozenFor):
	}
	t.say("worker %d goes on", victim.Process.Pid)
	return thaw(victim)
}

func (t *trial) databaseIsFree(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	tx, err := t.sink.db.BeginTx(ctx, nil)
	return err == nil && tx.Rollback() == nil
}

// stopServer stops the server that leads the stream, and starts it again.
func (t *trial) stopServer(context.Context) error {
	if t.servers == nil {
		return nil
	}
	i, ok := t.servers.Leader("shardq-identifiers")
	if !ok {
		i = 0
	}
	t.say("server %d is stopped", i)
	t.servers.Stop(i)
	if err := t.servers.Restart(i); err != nil {
		return fmt.Errorf("restart server %d: %w", i, err)
	}
	t.say("server %d is back", i)
	return nil
}
