package wake

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestParkerLosesNoWakeUp has as many consumers as items, each of which takes
// one. If a wake-up is lost, a consumer is blocked, and the test deadlocks.
func TestParkerLosesNoWakeUp(t *testing.T) {
	const rounds, consumers = 3000, 4
	synctest.Test(t, func(t *testing.T) {
		for range rounds {
			var p Parker
			p.Init()
			items := items{}
			var wg sync.WaitGroup
			for range consumers {
				wg.Go(func() { items.await(&p) })
				wg.Go(func() {
					items.ready.Add(1)
					p.Wake()
				})
			}
			wg.Wait()
			require.Zero(t, p.Parked())
		}
	})
}

type items struct{ ready atomic.Int32 }

func (i *items) take() bool {
	for n := i.ready.Load(); n > 0; n = i.ready.Load() {
		if i.ready.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// await takes an item as a consumer of a set does.
func (i *items) await(p *Parker) {
	for !i.take() {
		p.Announce()
		searches := i.ready.Load() == 0 && p.Block(nil)
		p.Withdraw()
		if !searches {
			continue
		}
		found := i.take()
		p.StopSearching()
		if i.ready.Load() > 0 {
			p.Wake()
		}
		if found {
			return
		}
	}
}

// TestTokenOutlivesACancel: a consumer that is canceled leaves the token for the
// next, and while the token is out no other is sent.
func TestTokenOutlivesACancel(t *testing.T) {
	var p Parker
	p.Init()
	p.Wake()
	require.False(t, p.WokenPending(), "nobody was parked")
	canceled := make(chan struct{})
	close(canceled)
	p.Announce()
	require.False(t, p.Block(canceled))
	p.Wake()
	p.Wake()
	p.Withdraw()
	require.Zero(t, p.Parked())
	p.Announce()
	require.True(t, p.WokenPending())
	require.True(t, p.Block(nil), "the token is there")
	p.Withdraw()
	p.Announce()
	p.Wake()
	require.False(t, p.Block(canceled), "one is searching")
	p.StopSearching()
	p.Wake()
	require.True(t, p.Block(make(chan struct{})))
}
