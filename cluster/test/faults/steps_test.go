//go:build unix

package faults

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheProtocolIsCutAtEachStep kills and freezes a worker when its server has
// not got, or has just got, a message of each kind. What a frozen worker has
// sent arrives after others have its partitions.
func TestTheProtocolIsCutAtEachStep(t *testing.T) {
	for _, step := range []ProtocolStep{Acquires, Renews, Releases, Acknowledges} {
		for _, sends := range []bool{false, true} {
			for _, freezes := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/sends=%t/freezes=%t", step, sends, freezes), func(t *testing.T) {
					t.Parallel()
					cutAt(t, step, sends, freezes)
				})
			}
		}
	}
}

func cutAt(t *testing.T, step ProtocolStep, sends, freezes bool) {
	c := newCell(t, 1, shortLease)
	tap, err := NewTap(strings.TrimPrefix(c.servers.URL(0), "nats://"), step, sends)
	require.NoError(t, err)
	t.Cleanup(tap.Close)
	victim := c.spawnBehind("nats://" + tap.Address()).Process.Pid
	began := c.sink.HoldNext(Begins)
	wait := c.add()
	if step == Releases {
		receive(c.t, began.Held)
		c.send(victim, syscall.SIGTERM)
	}
	began.Release()
	receive(t, tap.Reached)
	c.spawnMany(2) // they take over
	if !freezes {
		c.send(victim, syscall.SIGKILL)
		tap.GoOn()
		wait()
		c.check()
		return
	}
	c.send(victim, syscall.SIGSTOP)
	wait()
	c.check() // the others serve all keys
	c.send(victim, syscall.SIGCONT)
	tap.GoOn()
	c.add()()
	c.check()
}
