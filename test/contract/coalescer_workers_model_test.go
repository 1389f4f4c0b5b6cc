package contract

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/limiter"
)

// Every value that was put is handled with nil, or given up, or pending: in one of these, and
// once. Handlers fail, panic, exit, requeue and take their time, by the dice; values come
// meanwhile; and the end is one of all that there are.
func TestC58EveryValueIsInOneHand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { playHands(rt) })
	})
}

type (
	numbersOfKey = shardq.Pending[int, []int]
	numberLists  = shardq.Coalescer[int, []int]
)

// Hands are where a value may be.
type hands struct {
	mu               sync.Mutex
	handled, givenUp []int
	busy             map[int]bool // keys that a handler has
	overlaps         int
	letters          []rune // what handlers do, one after the other, over and over
	turn             int
}

func (h *hands) next() rune {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn++
	return h.letters[h.turn%len(h.letters)]
}

func (h *hands) hold(key int, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held && h.busy[key] {
		h.overlaps++
	}
	h.busy[key] = held
}

// handle does what the next letter says.
func (h *hands) handle(_ context.Context, one numbersOfKey) error {
	h.hold(one.Key, true)
	defer h.hold(one.Key, false)
	switch h.next() {
	case 'f':
		return errOnPurpose
	case 'p':
		panic(errOnPurpose)
	case 'x':
		runtime.Goexit()
	case 'a':
		return shardq.RequeueAfter(time.Second)
	case 'g':
		return shardq.Permanent(errOnPurpose)
	case 'w': // so that others come meanwhile
		time.Sleep(700 * time.Millisecond)
		return errOnPurpose
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handled = append(h.handled, one.Value...)
	return nil
}

// handleBatch is handle of each: only if all fail, by a panic or an exit.
func (h *hands) handleBatch(_ context.Context, all []numbersOfKey) []error {
	switch h.next() {
	case 'p':
		panic(errOnPurpose)
	case 'x':
		runtime.Goexit()
	}
	errs := make([]error, len(all))
	for i, one := range all {
		errs[i] = func() (err error) {
			defer func() {
				if cause := recover(); cause != nil {
					err = errOnPurpose
				}
			}()
			return h.handle(context.Background(), one)
		}()
		all[i] = numbersOfKey{Key: -1}
	}
	return errs
}

func (h *hands) giveUp(f shardq.Failure[numbersOfKey]) {
	h.mu.Lock()
	h.givenUp = append(h.givenUp, f.Item.Value...)
	h.mu.Unlock()
	switch h.next() {
	case 'x':
		runtime.Goexit()
	case '!':
		panic(errOnPurpose)
	}
}

func playHands(rt *rapid.T) {
	h := &hands{busy: map[int]bool{}}
	letters := "sssfpagw!"
	o := shardq.WorkerOptions[numbersOfKey]{
		Workers:     rapid.IntRange(1, 4).Draw(rt, "workers"),
		MaxAttempts: rapid.IntRange(0, 3).Draw(rt, "MaxAttempts"),
		OnGiveUp:    h.giveUp,
	}
	if rapid.Bool().Draw(rt, "batches") {
		o.BatchSize, o.HandleBatch = rapid.IntRange(1, 4).Draw(rt, "BatchSize"), h.handleBatch
	} else {
		o.Handle = h.handle
		letters += "x"
	}
	h.letters = []rune(rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 1, 12, -1).Draw(rt, "answers"))
	if rapid.Bool().Draw(rt, "drain") {
		o.Drain = &shardq.DrainOptions{Waiting: shardq.WaitingPolicy(rapid.IntRange(0, 2).Draw(rt, "policy"))}
		o.DrainTimeout = time.Duration(rapid.IntRange(1, 5).Draw(rt, "timeout")) * time.Second
	}
	c := shardq.MustCoalescer(shardq.CoalescerOptions[int, []int]{
		Queue: shardq.Options[int]{
			Shards:      rapid.SampledFrom([]int{1, 3}).Draw(rt, "shards"),
			RateLimiter: limiter.NewExponential[int](300*time.Millisecond, time.Second),
		},
		Merge: func(pending, next []int) []int { return slices.Concat(pending, next) },
	})
	w, err := shardq.NewCoalescerWorkers(c, o)
	require.NoError(rt, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := returned(func() { panicOf(func() { _ = w.Run(ctx) }) })
	put := 0
	for range rapid.IntRange(0, 25).Draw(rt, "puts") {
		if rapid.IntRange(0, 9).Draw(rt, "resize") == 0 {
			w.Resize(rapid.IntRange(1, 5).Draw(rt, "to"))
		}
		if c.Put(rapid.IntRange(0, 3).Draw(rt, "key"), []int{put}) == nil {
			put++
		}
		time.Sleep(time.Duration(rapid.IntRange(0, 900).Draw(rt, "pause")) * time.Millisecond)
	}
	if rapid.Bool().Draw(rt, "shut down by somebody else") {
		c.ShutDown()
	} else {
		cancel()
	}
	time.Sleep(time.Hour) // what always fails fails until the drain is given up, or the shutdown refuses it
	cancel()
	synctest.Wait()
	require.True(rt, ended())
	h.requireAll(rt, c, put)
}

// requireAll checks that each of the values is in one hand.
func (h *hands) requireAll(rt *rapid.T, c *numberLists, put int) {
	stats := c.Stats()
	require.Zero(rt, stats.Processing)
	require.Zero(rt, stats.Misused, "a key was Done twice")
	require.Zero(rt, h.overlaps, "two handlers had a key at once")
	all := slices.Concat(h.handled, h.givenUp)
	c.ShutDown()
	for {
		key, value, err := c.Take(context.Background())
		if err != nil {
			break
		}
		all = append(all, value...)
		c.Done(key)
	}
	slices.Sort(all)
	require.Equal(rt, numbers(put), append([]int{}, all...), "handled %v, given up %v", h.handled, h.givenUp)
}
