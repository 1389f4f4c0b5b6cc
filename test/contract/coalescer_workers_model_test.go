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
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/worker"
)

// Every value that was put is handled with nil, or discarded, or pending: in
// one of these places, and once. Handlers fail, panic, exit, requeue and are
// slow at random. Values are put meanwhile. The end is chosen at random as
// well.
func TestC58EveryValueIsInOnePlace(t *testing.T) {
	testscale.Rapid(100)
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { playPlaces(rt) })
	})
}

type (
	numbersOfKey = coalesce.Entry[int, []int]
	numberLists  = coalesce.Coalescer[int, []int]
)

// places are where a value may be.
type places struct {
	mu                 sync.Mutex
	handled, discarded []int
	busy               map[int]bool // keys that a handler is processing
	overlaps           int
	letters            []rune // what handlers do, one after the other, repeatedly
	turn               int
}

func (h *places) next() rune {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn++
	return h.letters[h.turn%len(h.letters)]
}

func (h *places) hold(key int, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held && h.busy[key] {
		h.overlaps++
	}
	h.busy[key] = held
}

// handle acts by the next letter.
func (h *places) handle(_ context.Context, one numbersOfKey) error {
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
		return worker.RequeueAfter(time.Second)
	case 'g':
		return worker.Permanent(errOnPurpose)
	case 'w': // so that values are put meanwhile
		time.Sleep(700 * time.Millisecond)
		return errOnPurpose
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handled = append(h.handled, one.Value...)
	return nil
}

// handleBatch is handle for each. It panics or exits only if all fail.
func (h *places) handleBatch(_ context.Context, all []numbersOfKey) []error {
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

func (h *places) giveUp(_ context.Context, f worker.Failure[numbersOfKey]) {
	h.mu.Lock()
	h.discarded = append(h.discarded, f.Item.Value...)
	h.mu.Unlock()
	switch h.next() {
	case 'x':
		runtime.Goexit()
	case '!':
		panic(errOnPurpose)
	}
}

func playPlaces(rt *rapid.T) {
	h := &places{busy: map[int]bool{}}
	letters := "sssfpagw!"
	o := worker.Options[numbersOfKey]{
		Workers:     rapid.IntRange(1, 4).Draw(rt, "workers"),
		MaxAttempts: rapid.IntRange(0, 3).Draw(rt, "MaxAttempts"),
		OnDiscard:   h.giveUp,
	}
	if rapid.Bool().Draw(rt, "batches") {
		o.BatchSize, o.HandleBatch = rapid.IntRange(1, 4).Draw(rt, "BatchSize"), h.handleBatch
	} else {
		o.Handle = h.handle
		letters += "x"
	}
	h.letters = []rune(rapid.StringOfN(rapid.RuneFrom([]rune(letters)), 1, 12, -1).Draw(rt, "answers"))
	drains := rapid.Bool().Draw(rt, "drain")
	policy := shardq.DelayedPolicy(0)
	if drains {
		policy = shardq.DelayedPolicy(rapid.IntRange(0, 2).Draw(rt, "policy"))
		o.DrainTimeout = time.Duration(rapid.IntRange(1, 5).Draw(rt, "timeout")) * time.Second
	}
	c := coalesce.MustNew(coalesce.Options[int, []int]{
		Queue: shardq.Options[int]{
			Shards:      rapid.SampledFrom([]int{1, 3}).Draw(rt, "shards"),
			RateLimiter: limiter.NewExponential[int](300*time.Millisecond, time.Second),
		},
		Merge: func(pending, next []int) []int { return slices.Concat(pending, next) },
	})
	if drains {
		o.Drain = c.DrainWith(shardq.DrainOptions{Delayed: policy})
	}
	w, err := worker.New(c, o)
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
	if rapid.Bool().Draw(rt, "shut down by another goroutine") {
		c.ShutDown()
	} else {
		cancel()
	}
	time.Sleep(time.Hour) // a value that always fails does so until the drain ends early or the shutdown refuses it
	cancel()
	synctest.Wait()
	require.True(rt, ended())
	h.requireAll(rt, c, put)
}

// requireAll checks that each of the values is in one place.
func (h *places) requireAll(rt *rapid.T, c *numberLists, put int) {
	stats := c.Stats()
	require.Zero(rt, stats.Processing)
	require.Zero(rt, stats.Misused, "a key was Done twice")
	require.Zero(rt, h.overlaps, "two handlers had a key at once")
	all := slices.Concat(h.handled, h.discarded)
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
	require.Equal(rt, numbers(put), append([]int{}, all...), "handled %v, discarded %v", h.handled, h.discarded)
}
