package wake

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParkerLosesNoWakeUp interleaves the steps of consumers, each of which takes
// one item, with those of a producer of as many items, at random. In the end no
// consumer is parked.
func TestParkerLosesNoWakeUp(t *testing.T) {
	const consumers = 3
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var p Parker
		p.Init()
		ready, actors := 0, []*actor{}
		for range consumers {
			actors = append(actors, consumer(&p, &ready), producer(&p, &ready))
		}
		for able := runnable(actors); len(able) > 0; able = runnable(actors) {
			a := able[random.IntN(len(able))]
			a.next = a.next()
		}
		for _, a := range actors {
			require.Nil(t, a.next, "seed %d: a consumer is parked beside %d items", seed, ready)
		}
		require.Zero(t, p.Parked())
	}
}

// An actor has its next step, which returns the one after it, and is nil in the
// end. blocked may be nil.
type actor struct {
	next    step
	blocked func() bool
}

type step func() step

func runnable(actors []*actor) (able []*actor) {
	for _, a := range actors {
		if a.next != nil && (a.blocked == nil || !a.blocked()) {
			able = append(able, a)
		}
	}
	return able
}

func producer(p *Parker, ready *int) *actor {
	wake := func() step { p.Wake(); return nil }
	return &actor{next: func() step { *ready++; return wake }}
}

func consumer(p *Parker, ready *int) *actor {
	a := &actor{}
	blocks, found := false, false
	a.blocked = func() bool { return blocks && len(p.token) == 0 }
	take := func() bool {
		if *ready == 0 {
			return false
		}
		*ready--
		return true
	}
	var begin, announce, check, block, search, stop, recheck step
	begin = func() step {
		if take() {
			return nil
		}
		return announce
	}
	announce = func() step { p.Announce(); return check }
	check = func() step {
		if *ready > 0 {
			p.Withdraw()
			return begin
		}
		blocks = true
		return block
	}
	block = func() step {
		p.Block(nil)
		p.Withdraw()
		blocks = false
		return search
	}
	search = func() step { found = take(); return stop }
	stop = func() step { p.StopSearching(); return recheck }
	recheck = func() step {
		if *ready > 0 {
			p.Wake()
		}
		if found {
			return nil
		}
		return begin
	}
	a.next = begin
	return a
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
