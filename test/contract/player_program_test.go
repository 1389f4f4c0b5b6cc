package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// This is what a program that a player has printed uses of this package.
var _ = []any{luck.Errorf, luck.FailNow, start, requireReturned, noted}

const leastBackoff, mostBackoff = 3 * time.Millisecond, 100 * time.Millisecond

// hashOf spreads items over a few shards.
func hashOf[T any](item T) uint64 { return uint64(nameOf(item)[0] % 5) }

// groupOf returns the group of an item: a, d and g are of group x. The items
// from j on have groups of their own.
func groupOf[T any](item T) string { // C47
	name := nameOf(item)
	if name[0] >= 'j' {
		return name[:1]
	}
	return string("xyz"[(name[0]-'a')%3])
}

// A luck is a test that is skipped where chance has decided otherwise than when
// the program was printed. Then -count=100 helps.
type luck struct{ *testing.T }

func (l luck) Errorf(format string, arguments ...any) { l.Logf("by chance: "+format, arguments...) }
func (l luck) FailNow()                               { l.SkipNow() }

func results(of ...any) []any { return append([]any{}, of...) }

// start makes a call in a goroutine, and keeps its results.
func start(call func() []any) *[]any {
	got := new([]any)
	go func() {
		if caught(func() { *got = call() }) {
			*got = results(errInjected)
		}
	}()
	return got
}

// requireReturned checks that a call has returned, and the results if they are
// given.
func requireReturned(t testing.TB, got *[]any, want ...any) {
	t.Helper()
	require.NotNil(t, *got, "the call stays")
	for i, w := range want {
		require.Greater(t, len(*got), i)
		if err, is := w.(error); is {
			is, _ := (*got)[i].(error)
			require.ErrorIs(t, is, err)
		} else {
			require.Equal(t, w, (*got)[i])
		}
	}
}

// free lets all blocked calls return.
func free[T comparable](q *shardq.Queue[T]) {
	q.Resume()
	q.SetRate(shardq.Rate{})
	for _, group := range slices.Collect(q.Groups()) {
		q.ResumeGroup(group.Group)
		q.RefreshGroup(group.Group)
	}
	q.ShutDown()
	for _, row := range slices.Collect(q.All(stats.Processing)) {
		q.Done(row.Item)
	}
}

// withEndedContext makes all calls that have a context with one that has ended.
func withEndedContext[T comparable](q *shardq.Queue[T], item T) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, first := q.GetContext(ctx)
	_, second := q.Claim(ctx)
	n, third := q.ClaimBatch(ctx, make([]worker.Claim[T], 5))
	for range q.Items(ctx) {
		n++
	}
	added, waited := q.AddContext(ctx, item, shardq.AddOptions{RateLimited: true}), q.WaitIdle(ctx)
	if q.Stats().Held == 0 && waited == nil {
		waited = context.Canceled
	}
	for _, err := range []error{first, second, third, added, waited} {
		if got != *new(T) || n > 0 || err != context.Canceled {
			return fmt.Errorf("with a context that has ended, calls returned %#v, %d items, %v", got, n, err)
		}
	}
	return nil
}

// noted returns what hooks have noted, and forgets it.
func noted(journal chan string) (calls []string) {
	for len(journal) > 0 {
		calls = append(calls, <-journal)
	}
	return calls
}

// sorted returns the names of items in order.
func sorted[T any](items []T) []string { return slices.Sorted(slices.Values(namesOf(items))) }

// counted returns the fields of Stats that [model.stats] returns as well.
func counted(s shardq.Stats) shardq.Stats {
	return shardq.Stats{
		Shards: s.Shards, Ready: s.Ready, Delayed: s.Delayed, Processing: s.Processing, Held: s.Held,
		Groups: s.Groups, Throttled: s.Throttled, ThrottledByRate: s.ThrottledByRate, ThrottledByPause: s.ThrottledByPause,
		Paused: s.Paused,
		Added:  s.Added, Deduplicated: s.Deduplicated, Expired: s.Expired, Dropped: s.Dropped, Canceled: s.Canceled,
		OverCapacity: s.OverCapacity, Rejected: s.Rejected, Misused: s.Misused, Discarded: s.Discarded,
		Capacity: s.Capacity, ShuttingDown: s.ShuttingDown,
	}
}

// faults let a function of the user panic at one of its calls (C17). Each call
// also looks at the queue, which hangs if a lock is held.
type faults struct {
	look    func()
	looking atomic.Bool
	mu      sync.Mutex
	name    string // of the function that panics at the call number left, or ""
	left    int
}

var errInjected = errors.New("injected")

func (f *faults) arm(name string, left int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.name, f.left = name, left
}

func (f *faults) call(name string) {
	if f.look != nil {
		if !f.looking.CompareAndSwap(false, true) {
			return // it is look that calls
		}
		f.look()
		f.looking.Store(false)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.name != name {
		return
	}
	if f.left--; f.left == 0 {
		f.name = ""
		panic(errInjected)
	}
}

// caught runs do, and reports whether the injected panic occurred.
func caught(do func()) (panicked bool) {
	defer func() {
		if r := recover(); r != nil {
			if panicked = r == any(errInjected); !panicked {
				panic(r)
			}
		}
	}()
	do()
	return false
}
