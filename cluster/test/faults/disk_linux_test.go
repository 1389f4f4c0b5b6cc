package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
)

// TestAFullDisk checks that an add fails while the servers cannot store it,
// that no add which returned nil is lost, and that the queue works when there
// is room again. It needs the right to mount a small file system.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skip("want the right to mount a file system:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	o := Setting{Lease: longLease}.Options()
	o.Dir, o.Replicas = dir, 1
	node, err := cluster.Join(t.Context(), o)
	require.NoError(t, err)
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)

	stored := map[string]bool{}
	var failed error
	for i := 0; failed == nil && i < 100_000; i++ {
		key := fmt.Sprintf("key %d", i)
		if failed = node.Add(t.Context(), key); failed == nil {
			stored[key] = true
		}
	}
	require.ErrorIs(t, failed, cluster.ErrStore)
	require.NoError(t, os.Remove(ballast))
	require.NoError(t, node.Close())

	node, err = cluster.Join(t.Context(), o)
	require.NoError(t, err)
	defer node.Close()
	require.NoError(t, node.Add(t.Context(), "after"))
	stored["after"] = true
	run(t, node, stored)
}

// fill writes a file until the disk is full.
func fill(t *testing.T, name string) {
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
}
