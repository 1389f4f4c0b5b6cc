package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/shardq/shardq/cluster"
)

// settings are those of all nodes.
func (o options) settings(replicas int) cluster.Options[string] {
	return cluster.Options[string]{
		Name: "identifiers", Servers: o.servers, Replicas: replicas, Partitions: 16, Lease: 3 * time.Second, Values: true,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	}
}

// work is a worker's process.
func work(ctx context.Context, o options) error {
	s, err := openSink(o.database)
	if err != nil {
		return err
	}
	defer s.db.Close()
	node, err := cluster.Join(ctx, o.settings(1)) // the queue is there
	if err != nil {
		return err
	}
	defer node.Close()
	return node.Run(ctx, 4, s.count)
}
