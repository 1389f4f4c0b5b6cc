package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

func TestIdentifiers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nvar b = b // c\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("no"), 0o600))
	var got []string
	keep := func(identifier string) bool { got = append(got, identifier); return len(got) < 2 }
	require.NoError(t, identifiers(dir, keep))
	require.Equal(t, []string{"a", "b"}, got)
	require.Error(t, identifiers(filepath.Join(dir, "none"), keep))
}

// TestTheSink checks that a value counts once, however often its run is
// repeated, and that the report shows a write that should have been refused.
func TestTheSink(t *testing.T) {
	s, err := openSink(filepath.Join(t.TempDir(), "counts.db"))
	require.NoError(t, err)
	defer s.db.Close()
	servers := clustertest.Start(t, 1)
	o := options{servers: servers.URLs()}
	node, err := cluster.Join(t.Context(), o.settings(1))
	require.NoError(t, err)
	defer node.Close()
	for range 3 {
		require.NoError(t, node.Put(t.Context(), "a", []byte("1")))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	require.NoError(t, node.Run(ctx, 1, func(_ context.Context, c cluster.Claim[string]) error {
		for range 2 {
			require.NoError(t, s.count(t.Context(), c))
		}
		cancel()
		return nil
	}))
	counts, err := s.counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 3}, counts)
	p, err := s.proof(t.Context())
	require.NoError(t, err)
	require.Equal(t, proof{writes: 2, repeated: 3}, p)

	_, err = s.db.Exec(`UPDATE fences SET epoch = epoch + 1`)
	require.NoError(t, err)
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	var epoch uint64
	var partition int
	require.NoError(t, tx.QueryRow(`SELECT partition, epoch FROM fences`).Scan(&partition, &epoch))
	require.NoError(t, advance(t.Context(), tx, cluster.Fence{Partition: partition, Epoch: epoch}))
	require.Equal(t, &cluster.FenceError{Epoch: epoch}, advance(t.Context(), tx, cluster.Fence{Partition: partition, Epoch: epoch - 1}))
	require.NoError(t, tx.Rollback())
	_, err = s.db.Exec(`INSERT INTO log (partition, epoch, repeated) VALUES (?, 0, 0)`, partition)
	require.NoError(t, err)
	p, err = s.proof(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, p.stale)
}

func TestOptionsWithFaults(t *testing.T) {
	for _, o := range []options{{}, {events: 1, servers: "nats://127.0.0.1:1", directory: t.TempDir()}} {
		require.Error(t, run(t.Context(), o))
	}
}
