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
	// latency is how long a call of the API takes on average: from half as long to half
	// as long again.
	latency = 4 * time.Millisecond

	// retryAfter is what it tells those to whom it has no time.
	retryAfter = 50 * time.Millisecond

	// quota is the largest number of replicas that it grants.
	quota = 98
)

// newSpec returns what somebody may wish for: 0 to 99 replicas.
func newSpec(random *rand.Rand) string { return fmt.Sprintf("replicas=%d", random.IntN(100)) }

// An api is the simulated world: the only way to change what is observed. It is safe for
// concurrent use. What becomes of the n-th call for an object is decided by the seed.
type api struct {
	observe func(Key, version) error
	fail    float64
	seed    uint64
	honest  atomic.Bool // no write is lost any more
	stuck   time.Duration

	mu    sync.Mutex
	calls map[Key]uint64
}

// The ways to say no.
type (
	// throttled asks to come again later.
	throttled struct{ retryAfter time.Duration }
	// A refusal is for good.
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

// apply makes the object as wanted, or says why not.
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

// stuckObject is the one whose first call takes as long as -stuck says.
var stuckObject = objectOf("tenant-1", 7)

// getStuck is what no timeout helps against: code that does not heed its context, such as a
// client without a deadline of its own.
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

// misbehave does one of the things that happen.
func (a *api) misbehave(ctx context.Context, share float64) error {
	switch {
	case share < 0.04:
		panic("the API's client has a fault")
	case share < 0.08: // hangs
		<-ctx.Done()
		return ctx.Err()
	case share < 0.12 && !a.honest.Load(): // acknowledged, and lost
		return nil
	case share < 0.45:
		return throttled{retryAfter}
	default:
		return errUnavailable
	}
}

// luck returns what decides over the next call for the object: the same in each run with
// that seed, whichever worker calls when.
func (a *api) luck(key Key) *rand.Rand {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[key]++
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%s/%d", key.Tenant, key.Name, a.calls[key])
	return rand.New(rand.NewPCG(a.seed, hash.Sum64()))
}

// wait waits for as long. It returns ctx's error if that ends before.
func wait(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
