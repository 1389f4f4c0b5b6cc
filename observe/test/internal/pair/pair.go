// Package pair makes a queue of shardq and one of client-go that are used
// alike, step by step, on clocks with the same time, so that their counts can
// be compared.
package pair

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
)

// Grain divides all times. No power of ten is a multiple of 7. So no duration
// is exactly at a bound of the classic buckets, which is slightly wrong in
// client-go.
const Grain = 7 * time.Nanosecond

// A Pair is two queues. It must be made and used in a bubble of synctest.
type Pair struct {
	Ours   *shardq.Queue[string]
	Theirs workqueue.TypedRateLimitingInterface[string]

	random     *rand.Rand
	ourClock   *clock.Fake
	theirClock *steppedClock
	processing []string
	down       bool
}

// New returns two queues with a name. Those of client-go count by the provider
// that is set for the process.
func New(name string, seed uint64) *Pair {
	start := time.Unix(1_700_000_000, 0)
	p := &Pair{
		random:     rand.New(rand.NewPCG(seed, 0)),
		ourClock:   clock.NewFake(start),
		theirClock: newSteppedClock(start),
	}
	p.Ours = shardq.MustNew(shardq.Options[string]{
		Name: name, Shards: 1, Metrics: true, Clock: p.ourClock, Tick: Grain, RateLimiter: backoff(),
	})
	p.Theirs = workqueue.NewTypedRateLimitingQueueWithConfig(backoff(), workqueue.TypedRateLimitingQueueConfig[string]{
		Name: name, Clock: p.theirClock,
	})
	return p
}

func backoff() limiter.Limiter[string] {
	return limiter.NewExponential[string](700_000*Grain, 1<<40*Grain)
}

// Play does something random to both queues, and checks that their answers are
// the same.
func (p *Pair) Play(t testing.TB) {
	t.Helper()
	item := string(rune('a' + p.random.IntN(6)))
	switch p.random.IntN(20) {
	case 0, 1, 2, 3, 4:
		p.Ours.Add(item)
		p.Theirs.Add(item)
	case 5, 6, 7:
		p.get(t)
	case 8, 9, 10:
		p.done()
	case 11, 12:
		p.step(1) // no two delays expire at once: their order would be undefined
		delay := p.delay() * time.Duration(p.random.IntN(5)-1)
		p.Ours.AddAfter(item, delay)
		p.Theirs.AddAfter(item, delay)
	case 13, 14:
		p.step(1)
		p.Ours.AddRateLimited(item)
		p.Theirs.AddRateLimited(item)
	case 15:
		p.Ours.Forget(item)
		p.Theirs.Forget(item)
	case 16:
		if p.random.IntN(20) == 0 {
			p.ShutDown()
		}
	default:
		p.step(p.delay() / Grain)
	}
	p.settle()
	require.Equal(t, p.Theirs.Len(), p.Ours.Len())
	require.Equal(t, p.Theirs.NumRequeues(item), p.Ours.NumRequeues(item))
}

// delay returns a delay between a grain and half an hour. Short and long ones
// are equally frequent.
func (p *Pair) delay() time.Duration {
	return Grain * time.Duration(1+p.random.Uint64N(1<<p.random.IntN(38)))
}

func (p *Pair) get(t testing.TB) {
	if p.Theirs.Len() == 0 {
		return
	}
	item, _ := p.Theirs.Get()
	ours, _ := p.Ours.Get()
	require.Equal(t, item, ours)
	p.processing = append(p.processing, item)
}

func (p *Pair) done() {
	if len(p.processing) == 0 {
		return
	}
	i := p.random.IntN(len(p.processing))
	p.Ours.Done(p.processing[i])
	p.Theirs.Done(p.processing[i])
	p.processing = slices.Delete(p.processing, i, i+1)
}

func (p *Pair) step(grains time.Duration) {
	p.settle()
	p.ourClock.Step(grains * Grain)
	p.theirClock.Step(grains * Grain)
	p.settle()
}

// settle waits until client-go's goroutines have done their work. Then it
// updates client-go's value of unfinished work, which is otherwise renewed
// twice a second.
func (p *Pair) settle() {
	synctest.Wait()
	if !p.down {
		p.theirClock.renew <- p.theirClock.Now()
		synctest.Wait()
	}
}

// ShutDown shuts both queues down. A second call does nothing.
func (p *Pair) ShutDown() {
	p.settle()
	p.Ours.ShutDown()
	p.Theirs.ShutDown()
	p.down = true
}
