package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

func asynqUnique(fsync string) system {
	return func(ctx context.Context, dir string, keys []string) (took phases, err error) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return took, err
		}
		socket := asynq.RedisClientOpt{Network: "unix", Addr: filepath.Join(dir, "redis")}
		redis := exec.Command("redis-server", "--port", "0", "--unixsocket", socket.Addr, "--dir", dir,
			"--save", "", "--appendonly", "yes", "--appendfsync", fsync)
		if err := redis.Start(); err != nil {
			return took, err
		}
		defer func() { _ = redis.Process.Kill(); _ = redis.Wait() }()
		client := asynq.NewClient(socket)
		defer client.Close()
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) { // no one tells
			if err := client.Ping(); err == nil {
				break
			} else if time.Since(began) > 5*time.Second {
				return took, fmt.Errorf("redis-server does not answer: %w", err)
			}
		}
		server := asynq.NewServer(socket, asynq.Config{Concurrency: workers, LogLevel: asynq.FatalLevel})
		defer server.Shutdown()
		return measure(keys, func(some []string) error { return enqueue(ctx, client, some) }, func(done func()) error {
			return server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { done(); return nil }))
		})
	}
}

func enqueue(ctx context.Context, client *asynq.Client, keys []string) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var lanes sync.WaitGroup
	for lane := range workers {
		lanes.Go(func() {
			for i := lane; i < len(keys) && ctx.Err() == nil; i += workers {
				_, err := client.EnqueueContext(ctx, asynq.NewTask("key", []byte(keys[i])), asynq.Unique(time.Hour))
				if err != nil {
					fail(err)
				}
			}
		})
	}
	lanes.Wait()
	return context.Cause(ctx)
}
