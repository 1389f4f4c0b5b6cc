package traffic

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// every returns a function that reports true for one call of n.
func every(n int64) func() bool {
	var calls atomic.Int64
	return func() bool { return calls.Add(1)%n == 0 }
}

// spoiled is a queue of which one function is another one.
func spoiled(spoil func(*target)) saboteur { return saboteur{queue: spoil} }

// changed is a queue with other options.
func changed(change func(*shardq.Options[int])) saboteur { return saboteur{options: change} }

// left holds the goroutines that a saboteur leaves behind until the test ends.
var left = make(chan struct{})

// saboteurs must each be found, by a check whose report has the word.
var saboteurs = map[string]struct {
	word string
	saboteur
}{
	"an add is lost": {"no lost add", spoiled(func(q *target) {
		add, sometimes := q.Add, every(50)
		q.Add = func(key int) {
			if !sometimes() {
				add(key)
			}
		}
	})},
	"a key runs twice": {"deduplication", spoiled(func(q *target) {
		done, sometimes := q.Done, every(20)
		q.Done = func(key int) {
			if key >= 0 && sometimes() {
				q.Queue.Add(key)
			}
			done(key)
		}
	})},
	"a turn ends early": {"exclusion", spoiled(func(q *target) {
		get := q.Get
		q.Get = func() (int, bool) {
			key, shutdown := get()
			if !shutdown {
				q.Queue.Done(key)
			}
			return key, shutdown
		}
	})},
	"a Get loses its key": {"no lost wake-up", spoiled(func(q *target) {
		get, sometimes := q.Get, every(50)
		q.Get = func() (int, bool) {
			if sometimes() {
				get()
			}
			return get()
		}
	})},
	"delays are early": {"delays", spoiled(func(q *target) {
		add := q.AddAfter
		q.AddAfter = func(key int, d time.Duration) { add(key, d/2) }
	})},
	"a limit is exceeded":   {"limits", changed(func(o *shardq.Options[int]) { o.GroupPolicy = nil })},
	"failures are kept":     {"retries", spoiled(func(q *target) { q.Forget = func(int) {} })},
	"a drain does not wait": {"drain", spoiled(func(q *target) { q.ShutDownWithDrain = q.ShutDown })},
	"a drain forgets what it drops": {"no lost add", spoiled(func(q *target) {
		drain := q.Drain
		q.Drain = func(ctx context.Context, o shardq.DrainOptions) ([]int, error) {
			_, err := drain(ctx, o)
			return nil, err
		}
	})},
	"a shutdown loses what is ready": {"no lost add", spoiled(func(q *target) {
		shutDown := q.ShutDown
		q.ShutDown = func() {
			for item := range q.Queue.All(stats.Ready) {
				q.Queue.Cancel(item.Item)
			}
			shutDown()
		}
	})},
	"a shutdown leaves a goroutine": {"goroutines", spoiled(func(q *target) {
		shutDown := q.ShutDown
		q.ShutDown = func() { go func() { <-left }(); shutDown() }
	})},
	"WaitIdle does not wait": {"conservation", spoiled(func(q *target) {
		q.WaitIdle = func(context.Context) error { return nil }
	})},
}

func TestSaboteursAreFound(t *testing.T) {
	defer close(left)
	for name, s := range saboteurs {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			for seed := range uint64(400) {
				p := Draw(seed)
				p.blind = false
				_, err := play(p, time.Second, s.saboteur)
				if err != nil && strings.Contains(err.Error(), s.word) {
					t.Logf("seed %d, after %v: %.300v", seed, time.Since(begun).Round(time.Millisecond), err)
					return
				}
			}
			t.Error("no round found the fault")
		})
	}
}

// TestQueueKeepsItsPromises plays some rounds.
func TestQueueKeepsItsPromises(t *testing.T) {
	for seed := range uint64(40) {
		p := Draw(seed)
		_, err := Play(p, 20*time.Second)
		require.NoError(t, err, "seed %d: %v", seed, p)
	}
}

func TestPlanFollowsFromItsSeed(t *testing.T) {
	for seed := range uint64(100) {
		require.Equal(t, Draw(seed), Draw(seed))
	}
}
