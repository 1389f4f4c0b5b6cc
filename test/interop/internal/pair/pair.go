// Package pair makes a queue of shardq and one of client-go that are used
// alike, step by step, on clocks with the same time, so that their series can
// be compared.
package pair

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	k8sclock "k8s.io/utils/clock"
	fakeclock "k8s.io/utils/clock/testing"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/limiter"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// Compare plays random sequences. After each step it compares every series of
// client-go's queue in a registry with those that a Collector exports of ours.
func Compare(t *testing.T, theirs prometheus.Gatherer, style shardqprom.Style) {
	sequences := uint64(30)
	if testing.Short() {
		sequences = 6
	}
	for seed := range sequences {
		name := fmt.Sprint("sequence-", seed)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { compare(t, theirs, style, name, seed) })
		})
	}
}

func compare(t *testing.T, theirs prometheus.Gatherer, style shardqprom.Style, name string, seed uint64) {
	p := newPair(name, seed)
	defer p.shutDown()
	collector, err := shardqprom.NewCollector(shardqprom.Options{Style: style}, p.ours)
	require.NoError(t, err)
	ours := prometheus.NewPedanticRegistry()
	ours.MustRegister(collector)
	for range 150 {
		p.play(t)
		shown := Series(t, ours, name)
		if len(shown) == 0 { // our queue is closed and has disappeared; client-go's has not
			require.True(t, p.ours.ShuttingDown())
			require.Zero(t, p.ours.Stats().Held)
			return
		}
		requireSame(t, Series(t, theirs, name), shown)
	}
}

// grain divides all times. No power of ten is a multiple of 7. So no duration
// is exactly at a bound of the classic buckets, which is slightly wrong in
// client-go.
const grain = 7 * time.Nanosecond

// A pair is two queues, in a bubble of synctest.
type pair struct {
	ours       *shardq.Queue[string]
	theirs     workqueue.TypedRateLimitingInterface[string]
	random     *rand.Rand
	ourClock   *clock.Fake
	theirClock *steppedClock
	processing []string
	down       bool
}

// newPair returns two queues with a name. Those of client-go count by the
// provider that is set for the process.
func newPair(name string, seed uint64) *pair {
	start := time.Unix(1_700_000_000, 0)
	p := &pair{
		random: rand.New(rand.NewPCG(seed, 0)), ourClock: clock.NewFake(start),
		theirClock: &steppedClock{fakeclock.NewFakeClock(start), make(chan time.Time)},
	}
	backoff := func() limiter.Limiter[string] {
		return limiter.NewExponential[string](700_000*grain, 1<<40*grain)
	}
	p.ours = shardq.MustNew(shardq.Options[string]{
		Name: name, Shards: 1, Metrics: true, Clock: p.ourClock, Tick: grain, RateLimiter: backoff(),
	})
	p.theirs = workqueue.NewTypedRateLimitingQueueWithConfig(backoff(), workqueue.TypedRateLimitingQueueConfig[string]{
		Name: name, Clock: p.theirClock,
	})
	return p
}

// play does something random to both queues, and checks that their answers are
// the same.
func (p *pair) play(t testing.TB) {
	t.Helper()
	item := string(rune('a' + p.random.IntN(6)))
	switch p.random.IntN(20) {
	case 0, 1, 2, 3, 4:
		p.ours.Add(item)
		p.theirs.Add(item)
	case 5, 6, 7:
		if p.theirs.Len() > 0 {
			taken, _ := p.theirs.Get()
			ours, _ := p.ours.Get()
			require.Equal(t, taken, ours)
			p.processing = append(p.processing, taken)
		}
	case 8, 9, 10:
		if n := len(p.processing); n > 0 {
			i := p.random.IntN(n)
			p.ours.Done(p.processing[i])
			p.theirs.Done(p.processing[i])
			p.processing = slices.Delete(p.processing, i, i+1)
		}
	case 11, 12:
		p.step(1) // no two delays expire at once: their order would be undefined
		delay := p.delay() * time.Duration(p.random.IntN(5)-1)
		p.ours.AddAfter(item, delay)
		p.theirs.AddAfter(item, delay)
	case 13, 14:
		p.step(1)
		p.ours.AddRateLimited(item)
		p.theirs.AddRateLimited(item)
	case 15:
		p.ours.Forget(item)
		p.theirs.Forget(item)
	case 16:
		if p.random.IntN(20) == 0 {
			p.shutDown()
		}
	default:
		p.step(p.delay() / grain)
	}
	p.settle()
	require.Equal(t, p.theirs.Len(), p.ours.Len())
	require.Equal(t, p.theirs.NumRequeues(item), p.ours.NumRequeues(item))
}

// delay returns a delay between a grain and half an hour. Short and long ones
// are equally frequent.
func (p *pair) delay() time.Duration {
	return grain * time.Duration(1+p.random.Uint64N(1<<p.random.IntN(38)))
}

func (p *pair) step(grains time.Duration) {
	p.settle()
	p.ourClock.Step(grains * grain)
	p.theirClock.Step(grains * grain)
	p.settle()
}

// settle waits until client-go's goroutines have done their work. Then it
// updates client-go's value of unfinished work, which is otherwise renewed
// twice a second.
func (p *pair) settle() {
	synctest.Wait()
	if !p.down {
		p.theirClock.renew <- p.theirClock.Now()
		synctest.Wait()
	}
}

// shutDown shuts both queues down. A second call does nothing.
func (p *pair) shutDown() {
	p.settle()
	p.ours.ShutDown()
	p.theirs.ShutDown()
	p.down = true
}

// A steppedClock is a fake clock on which client-go's renewal of unfinished
// work happens on request. So the values can be compared at any moment.
type steppedClock struct {
	*fakeclock.FakeClock
	renew chan time.Time
}

func (c *steppedClock) NewTicker(d time.Duration) k8sclock.Ticker {
	if d == 500*time.Millisecond { // the interval of the renewal
		return requested(c.renew)
	}
	return c.FakeClock.NewTicker(d)
}

// requested is a ticker that ticks on request.
type requested chan time.Time

func (t requested) C() <-chan time.Time { return t }
func (t requested) Stop()               {}
