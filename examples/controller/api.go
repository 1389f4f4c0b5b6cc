package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// latency is the mean time of an API call. A call takes between half and
	// one and a half times as long.
	latency = 4 * time.Millisecond

	// retryAfter is the delay in the answer of a throttled call.
	retryAfter = 50 * time.Millisecond

	// quota is the largest number of replicas that the API accepts.
	quota = 98
)

// newSpec returns a random spec: 0 to 99 replicas.
func newSpec(random *rand.Rand) string { return fmt.Sprintf("replicas=%d", random.IntN(100)) }

// An api simulates the outside world, and is the only way to change the
// observed state. It is safe for concurrent use. The seed determines the result
// of the n-th call for each object.
type api struct {
	observe func(Key, version) error
	fail    float64
	seed    uint64
	honest  atomic.Bool // no write is lost any more
	stuck   time.Duration

	mu    sync.Mutex
	calls map[Key]uint64
}

// The errors of the API.
type (
	// throttled says that the call may be repeated after a delay.
	throttled struct{ retryAfter time.Duration }
	// A refusal is permanent.
	refusal struct {
		generation int64
		reason     string
	}
)

func (t throttled) Error() string {
	return fmt.Sprintf("the API is busy: retry after %v", t.retryAfter)
}
func (r *refusal) Error() string { return "the API refuses: " + r.reason }

var errUnavailable = errors.New("the API is not available")

// apply changes the object to the wanted version, or returns an error.
func (a *api) apply(ctx context.Context, key Key, wanted version) error {
	luck := a.luck(key)
	a.getStuck(key)
	if err := wait(ctx, latency/2+time.Duration(luck.Int64N(int64(latency)))); err != nil {
		return err
	}
	var replicas int
	if _, err := fmt.Sscanf(wanted.spec, "replicas=%d", &replicas); err != nil || replicas > quota {
		return &refusal{wanted.generation, fmt.Sprintf("%s: %d is the most", wanted.spec, quota)}
	}
	if luck.Float64() < a.fail {
		return a.misbehave(ctx, luck.Float64())
	}
	return a.observe(key, wanted)
}

// stuckObject is the object whose first call takes as long as -stuck says.
var stuckObject = objectOf("tenant-1", 7)

// getStuck stands for code that no timeout ends, because it ignores its
// context, such as a client without a deadline of its own.
func (a *api) getStuck(key Key) {
	if a.stuck > 0 && key == stuckObject && a.isFirstCall(key) {
		time.Sleep(a.stuck)
	}
}

func (a *api) isFirstCall(key Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[key] == 1
}

// misbehave fails in one of several ways, or not at all.
func (a *api) misbehave(ctx context.Context, share float64) error {
	switch {
	case share < 0.04:
		panic("the API's client has a fault")
	case share < 0.08: // hangs
		<-ctx.Done()
		return ctx.Err()
	case share < 0.12 && !a.honest.Load(): // acknowledges, and loses the write
		return nil
	case share < 0.45:
		return throttled{retryAfter}
	default:
		return errUnavailable
	}
}

// luck returns the random source for the next call for the object. It is the
// same in each run with the same seed, whatever the order of the workers.
func (a *api) luck(key Key) *rand.Rand {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[key]++
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%s/%d", key.Tenant, key.Name, a.calls[key])
	return rand.New(rand.NewPCG(a.seed, hash.Sum64()))
}

// wait waits for a duration. It returns ctx's error if ctx ends before.
func wait(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
