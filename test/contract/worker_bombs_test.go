package contract

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// A bomb panics at one call of one function of the user's. Delays order the calls,
// which the race detector does not see: hence the lock.
type bomb struct {
	function string

	mu           sync.Mutex
	call         int
	armed, spent bool
}

func (b *bomb) tick(function string) {
	if b.goesOff(function) {
		panic("bomb")
	}
}

func (b *bomb) goesOff(function string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.armed || function != b.function {
		return false
	}
	b.call--
	b.spent = b.spent || b.call == 0
	return b.call == 0
}

func (b *bomb) arm(armed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = armed
}

func (b *bomb) wentOff() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// unarmed does what does not count.
func (b *bomb) unarmed(do func()) {
	b.arm(false)
	do()
	b.arm(true)
}

// A tally counts by number, in workers that follow one another.
type tally struct {
	mu     sync.Mutex
	counts map[int]int
}

func newTally() *tally { return &tally{counts: map[int]int{}} }

// count counts one more of n, and returns how many there are.
func (c *tally) count(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[n]++
	return c.counts[n]
}

// once requires that each number below n was counted once.
func (c *tally) once(t *testing.T, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		require.Equal(t, 1, c.counts[i], "number %d", i)
	}
	require.Len(t, c.counts, n)
}

type bombLimiter[T comparable] struct {
	limiter.Limiter[T]
	*bomb
}

func (l bombLimiter[T]) When(i T) time.Duration { l.tick("When"); return l.Limiter.When(i) }
func (l bombLimiter[T]) Forget(i T)             { l.tick("Forget"); l.Limiter.Forget(i) }
func (l bombLimiter[T]) NumRequeues(i T) int {
	l.tick("NumRequeues")
	return l.Limiter.NumRequeues(i)
}

type bombClock struct{ *bomb }

func (c bombClock) Now() time.Time { c.tick("Now"); return time.Now() }
func (c bombClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	c.tick("AfterFunc")
	return bombTimer{time.AfterFunc(d, func() {
		defer func() { _ = recover() }() // it is nobody's goroutine
		f()
	}), c.bomb}
}

type bombTimer struct {
	*time.Timer
	*bomb
}

func (t bombTimer) Reset(d time.Duration) bool { t.tick("Reset"); return t.Timer.Reset(d) }

type bombLog struct{ *bomb }

func (l bombLog) Enabled(context.Context, slog.Level) bool  { l.tick("Enabled"); return true }
func (l bombLog) Handle(context.Context, slog.Record) error { l.tick("Log"); return nil }
func (l bombLog) WithAttrs([]slog.Attr) slog.Handler        { return l }
func (l bombLog) WithGroup(string) slog.Handler             { return l }

// options returns those of a queue all of whose user code can go off.
func bombOptions(b *bomb, grouped bool) shardq.Options[int] {
	o := shardq.Options[int]{
		Shards: 3, Clock: bombClock{b}, Ages: true, Logger: slog.New(bombLog{b}),
		RateLimiter:   bombLimiter[int]{limiter.NewExponential[int](time.Second, time.Minute), b},
		HighWatermark: 4, LowWatermark: 1,
		OnWatermark: func(shardq.Watermark) { b.tick("OnWatermark") },
		OnMisuse:    func(shardq.Misuse[int]) { b.tick("OnMisuse") },
	}
	if grouped {
		o.Group = func(item int) string { b.tick("Group"); return strconv.Itoa(item % 2) }
		o.GroupWeight = func(string) int { b.tick("GroupWeight"); return 2 }
	} else {
		o.Hash = func(item int) uint64 { b.tick("Hash"); return uint64(item) }
	}
	return o
}

var bombs = []string{
	"Handle", "As", "OnError", "OnGiveUp", "When", "Forget", "NumRequeues", "Now", "AfterFunc", "Reset",
	"Enabled", "Log", "OnWatermark", "OnMisuse", "Hash", "Group", "GroupWeight", "Merge", "Weight",
}

// forEachBomb runs a test with a bomb at each call of each function, until there are no
// more calls.
func forEachBomb(t *testing.T, test func(t *testing.T, b *bomb, batch int, grouped bool)) {
	for _, function := range bombs {
		for _, batch := range []int{0, 4} {
			for _, grouped := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", function, batch, grouped), func(t *testing.T) {
					for call := 1; ; call++ {
						b := &bomb{function: function, call: call}
						synctest.Test(t, func(t *testing.T) { test(t, b, batch, grouped) })
						if !b.wentOff() {
							t.Logf("%d calls", call-1)
							return
						}
					}
				})
			}
		}
	}
}

type bombError struct{ *bomb }

func (e bombError) Error() string { return "bomb" }
func (e bombError) As(any) bool   { e.tick("As"); return false }

// answer is what a handler makes of an item, one way in each attempt.
func (b *bomb) answer(item, attempt int) error {
	b.tick("Handle")
	switch {
	case attempt == 1 && item%2 == 0:
		return bombError{b}
	case attempt == 2 && item%3 == 0:
		return shardq.RequeueAfter(time.Second)
	case item%5 == 0 && attempt > 1:
		return shardq.Permanent(bombError{b})
	}
	return nil
}

// perItem calls the handler of one item, for a batch whose other items are not to share a
// panic.
func perItem(handle func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errOnPurpose
		}
	}()
	return handle()
}

// runWithBomb runs workers until ctx ends, others in the place of those that a panic has
// ended.
func runWithBomb[T any](t *testing.T, b *bomb, workers func() (*shardq.Workers[T], error)) {
	ctx, cancel := context.WithCancel(t.Context())
	b.arm(true)
	ended := returned(func() {
		for again := true; again; {
			w, err := workers()
			require.NoError(t, err)
			again = panicOf(func() { err = w.Run(ctx) }) != nil
			require.NoError(t, err)
		}
	})
	time.Sleep(time.Minute)
	synctest.Wait()
	cancel() // perhaps something waits still, and the rest is up to the drain
	time.Sleep(time.Hour)
	requireBecomesTrue(t, ended)
	b.arm(false)
}

// Wherever a function of the user's panics in a worker, no item is lost, handled twice,
// or left in processing: each succeeds once, or is given up once.
func TestC51NoPanicLosesAnItem(t *testing.T) {
	forEachBomb(t, func(t *testing.T, b *bomb, batch int, grouped bool) {
		q := shardq.Must(bombOptions(b, grouped))
		ends, attempts := newTally(), newTally()
		handle := func(_ context.Context, item int) error {
			err := b.answer(item, attempts.count(item))
			if err == nil {
				ends.count(item)
			}
			return err
		}
		o := shardq.WorkerOptions[int]{
			Workers: 1, Drain: &shardq.DrainOptions{Waiting: shardq.AwaitWaiting}, BatchSize: batch,
			OnError:  func(shardq.Failure[int]) { b.tick("OnError") },
			OnGiveUp: func(f shardq.Failure[int]) { ends.count(f.Item); b.tick("OnGiveUp") },
		}
		if batch == 0 {
			o.Handle = handle
		} else {
			o.HandleBatch = func(ctx context.Context, items []int) (errs []error) {
				for _, item := range items {
					errs = append(errs, perItem(func() error { return handle(ctx, item) }))
				}
				return errs
			}
		}
		q.AddBatch(numbers(11))
		runWithBomb(t, b, func() (*shardq.Workers[int], error) { return shardq.NewWorkers(q, o) })
		ends.once(t, 11)
		require.Zero(t, q.Stats().Held)
		require.Zero(t, q.Stats().Misused)
	})
}

// The same with values.
func TestC58NoPanicLosesAValue(t *testing.T) {
	forEachBomb(t, func(t *testing.T, b *bomb, batch int, grouped bool) {
		options := shardq.CoalescerOptions[int, []int]{
			Queue:  bombOptions(b, grouped),
			Merge:  func(x, y []int) []int { b.tick("Merge"); return slices.Concat(x, y) },
			Weight: func(v []int) int { b.tick("Weight"); return len(v) },
		}
		c := shardq.MustCoalescer(options)
		came, attempts := newTally(), newTally()
		var put atomic.Int64
		putNext := func(key int) { require.NoError(t, c.Put(key, []int{int(put.Add(1)) - 1})) }
		end := func(numbers []int) {
			for _, n := range numbers {
				came.count(n)
			}
		}
		handle := func(_ context.Context, one numbersOfKey) error {
			attempt := attempts.count(one.Key)
			if attempt < 3 {
				b.unarmed(func() { // merges with what goes back
					putNext(one.Key)
					putNext(one.Key)
				})
			}
			err := b.answer(one.Key, attempt)
			if err == nil {
				end(one.Value)
			}
			return err
		}
		o := shardq.WorkerOptions[numbersOfKey]{
			Workers: 1, Drain: &shardq.DrainOptions{Waiting: shardq.AwaitWaiting}, BatchSize: batch,
			OnError:  func(shardq.Failure[numbersOfKey]) { b.tick("OnError") },
			OnGiveUp: func(f shardq.Failure[numbersOfKey]) { end(f.Item.Value); b.tick("OnGiveUp") },
		}
		if batch == 0 {
			o.Handle = handle
		} else {
			o.HandleBatch = func(ctx context.Context, all []numbersOfKey) (errs []error) {
				for _, one := range all {
					errs = append(errs, perItem(func() error { return handle(ctx, one) }))
				}
				return errs
			}
		}
		for key := range 7 {
			putNext(key)
		}
		runWithBomb(t, b, func() (*shardq.Workers[numbersOfKey], error) { return shardq.NewCoalescerWorkers(c, o) })
		came.once(t, int(put.Load()))
		require.Zero(t, c.Len())
		require.Zero(t, c.Stats().Held)
		require.Zero(t, c.Stats().Misused)
	})
}
