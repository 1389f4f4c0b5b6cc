package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

// errNotHere is returned for a system that this machine does not have.
var errNotHere = errors.New("redis-server is not installed")

// An asynqSystem is asynq with unique tasks, on a redis-server.
type asynqSystem struct {
	redis   *exec.Cmd
	options asynq.RedisClientOpt
	client  *asynq.Client
}

func openAsynq(fsync string) func(context.Context, string, options) (system, error) {
	return func(ctx context.Context, dir string, _ options) (system, error) {
		program, err := exec.LookPath("redis-server")
		if err != nil {
			return nil, errNotHere
		}
		socket := filepath.Join(dir, "redis")
		a := &asynqSystem{redis: exec.Command(program, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", fsync)}
		if err := a.redis.Start(); err != nil {
			return nil, err
		}
		a.options = asynq.RedisClientOpt{Network: "unix", Addr: socket}
		for range 200 {
			if c, err := net.Dial("unix", socket); err == nil {
				_ = c.Close()
				a.client = asynq.NewClient(a.options)
				return a, nil
			}
			time.Sleep(20 * time.Millisecond)
		}
		return nil, errors.New("redis-server does not answer")
	}
}

func (a *asynqSystem) store(ctx context.Context, keys []string) error {
	var group sync.WaitGroup
	failed := make(chan error, workers)
	for lane := range workers {
		group.Go(func() {
			for i := lane; i < len(keys); i += workers {
				if _, err := a.client.EnqueueContext(ctx, asynq.NewTask("key", []byte(keys[i])), asynq.Unique(time.Hour)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (a *asynqSystem) work(_ context.Context, n int, done func(key string)) error {
	finished := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(n))
	server := asynq.NewServer(a.options, asynq.Config{Concurrency: workers, LogLevel: asynq.FatalLevel})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		done(string(t.Payload()))
		if left.Add(-1) == 0 {
			close(finished)
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("start a server: %w", err)
	}
	<-finished
	go server.Shutdown() // leaving is not measured
	return nil
}

func (a *asynqSystem) close() {
	if a.client != nil {
		_ = a.client.Close()
	}
	_ = a.redis.Process.Kill()
	_ = a.redis.Wait()
}
