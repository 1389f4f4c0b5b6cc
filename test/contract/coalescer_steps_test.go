package contract

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// steps are goroutines that stop before each step: when they call the clock,
// merge, or hear of an add.
type steps struct {
	mu      sync.Mutex
	waiting []chan struct{}
	on      bool // they have begun, and not all have ended
}

func (s *steps) next() {
	if !s.on {
		return
	}
	goOn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, goOn)
	s.mu.Unlock()
	<-goOn
}

// run makes one go on at a time, until all have ended. One that waits for
// another, as a drain for the driver, goes on when that has.
func (s *steps) run(t *rapid.T) {
	for synctest.Wait(); len(s.waiting) > 0; synctest.Wait() {
		i := rapid.IntRange(0, len(s.waiting)-1).Draw(t, "next")
		goOn := s.waiting[i]
		s.waiting = slices.Delete(s.waiting, i, i+1)
		close(goOn)
	}
	s.on = false
}

// A stepValue counts the values that have merged into it, those with a high priority,
// and those with a low one.
type stepValue struct{ n, high, low int }

const high, low = 7, -2

// priority returns the highest that the values have requested.
func (v stepValue) priority() int { // C77
	switch {
	case v.high > 0:
		return high
	case v.n > v.low:
		return 0
	}
	return low
}

type stepClaim = worker.Claim[coalesce.Entry[string, stepValue]]

// A stepPlayer has a coalescer of one key.
type stepPlayer struct {
	*coalesce.Coalescer[string, stepValue]
	steps
	clock    *clock.Fake
	linger   time.Duration
	least    uint32 // LingerValues
	readable bool
	put, out int
	merges   int
	panics   int // the Merge that panics
	// The value of a claim that ends during a Cancel is unsure to go back.
	cancels, canceling, unsure int
	// calm says that each put has asked for a wait, that no value was taken or
	// returned, and none was canceled of several. A linger may end early.
	calm, lingers bool
	// waiters are the calls that wait for a value, and putters those for room.
	waiters, putters int
	ctx              context.Context // of these calls
	capacity         int
	behind           []stepClaim // that have a lower priority than their values
}

type actor struct {
	claim *stepClaim
	byKey bool // the claim ends by its key and value
}

const longestStep = 2 * time.Hour

// Calls for one key run step by step, in a random order. No value is lost or
// doubled, and when they have ended, the queue has the keys with values alone.
func TestC54C78StepsInAnyOrder(t *testing.T) {
	testscale.Rapid(400_000)
	rapid.Check(t, func(t *rapid.T) { rapid.SyncTest(t, checkSteps) })
}

func newStepPlayer(t *rapid.T) *stepPlayer {
	p := &stepPlayer{
		clock: newFake(), calm: true, lingers: true, readable: rapid.Bool().Draw(t, "Readable"),
		linger: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "Linger"),
	}
	p.capacity, p.panics = rapid.IntRange(0, 3).Draw(t, "Capacity"), rapid.IntRange(0, 6).Draw(t, "panics")
	if p.linger > 0 {
		p.least = rapid.Uint32Range(0, 3).Draw(t, "LingerValues")
	}
	queue := shardq.Options[string]{
		Shards: 1, Clock: hookedClock{p.clock, func(string) { p.next() }}, Ages: rapid.Bool().Draw(t, "Ages"),
	}
	if rapid.Bool().Draw(t, "OnAdd") {
		queue.OnAdd = func(stats.Add[string]) { p.next() }
	}
	p.Coalescer = coalesce.MustNew(coalesce.Options[string, stepValue]{
		Queue: queue,
		Merge: p.merge, PutEndsBackoff: rapid.Bool().Draw(t, "PutEndsBackoff"), Readable: p.readable,
		Linger: p.linger, LingerValues: int(p.least), Capacity: p.capacity, Weight: func(v stepValue) int { return min(v.n, 2) },
	})
	return p
}

func (p *stepPlayer) merge(a, b stepValue) stepValue {
	p.next()
	if p.merges++; p.on && p.merges == p.panics {
		p.calm = false
		panic(errInjected)
	}
	return stepValue{a.n + b.n, a.high + b.high, a.low + b.low}
}

func checkSteps(t *rapid.T) {
	p := newStepPlayer(t)
	actors := make([]*actor, rapid.IntRange(2, 4).Draw(t, "actors"))
	for i := range actors {
		actors[i] = &actor{}
	}
	if rapid.Bool().Draw(t, "in processing") {
		p.putWith(false, coalesce.PutOptions{Delay: -1})(actors[0])
		p.take(atOnce(), true)(actors[0])
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.ctx = ctx
	defer cancel()
	p.on = true
	for _, a := range actors {
		program := make([]func(*actor), rapid.IntRange(1, 5).Draw(t, "calls"))
		for i := range program {
			program[i] = p.drawCall(t)
		}
		go func() {
			for _, call := range program {
				p.next()
				caught(func() { call(a) })
			}
		}()
		synctest.Wait() // so that they stop in a known order
	}
	p.run(t)
	s := p.Stats()
	require.True(t, p.waiters == 0 || s.Ready == 0, "a call still waits for a value")                                                     // C4
	require.True(t, p.putters == 0 || s.Values.Weight > 0 && s.Values.Weight >= p.capacity, "a call still waits for room: %+v", s.Values) // C56
	p.on = true
	cancel()
	p.run(t)
	for _, a := range actors {
		p.end(stepClaim.Done, true)(a)
	}
	p.checkRest(t)
}

func (p *stepPlayer) drawCall(t *rapid.T) func(*actor) {
	switch rapid.SampledFrom([]string{"put", "put", "put", "cancel", "cancel", "take", "take", "return", "return", "done", "end"}).Draw(t, "call") {
	case "put":
		return p.drawPut(t)
	case "cancel":
		return func(*actor) {
			p.cancels++
			p.canceling++
			defer func() { p.canceling-- }()
			value, _ := p.Cancel("a")
			p.out += value.n
			p.calm = p.calm && p.merges == 0
		}
	case "take":
		ctx := atOnce()
		if rapid.Bool().Draw(t, "waits") {
			ctx = p.ctx
		}
		return p.take(ctx, rapid.Bool().Draw(t, "by key"))
	case "return":
		return p.end(rapid.SampledFrom([]func(stepClaim) error{stepClaim.Release, stepClaim.Retry}).Draw(t, "how"), false)
	case "done":
		return p.end(stepClaim.Done, true)
	}
	if rapid.Bool().Draw(t, "ShutDown") {
		return func(*actor) { p.calm = false; p.ShutDown() }
	}
	o := shardq.DrainOptions{
		Delayed: rapid.SampledFrom([]shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed, shardq.AwaitDelayed}).Draw(t, "delayed"),
		Retries: rapid.SampledFrom([]shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries}).Draw(t, "retries"),
	}
	return func(*actor) {
		p.calm = false
		dropped, _ := p.Drain(atOnce(), o)
		for _, e := range dropped {
			p.out += e.Value.n
		}
	}
}

func (p *stepPlayer) drawPut(t *rapid.T) func(*actor) {
	waits := rapid.Bool().Draw(t, "waits")
	if rapid.IntRange(0, 2).Draw(t, "plain") == 0 {
		return p.putWith(waits, coalesce.PutOptions{})
	}
	return p.putWith(waits, coalesce.PutOptions{
		Delay:    rapid.SampledFrom([]time.Duration{0, 0, -1, time.Hour, longestStep}).Draw(t, "delay"),
		Policy:   rapid.SampledFrom(modelPolicies).Draw(t, "policy"),
		MaxWait:  rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "MaxWait"),
		Priority: rapid.SampledFrom([]int{0, high, low}).Draw(t, "priority"),
	})
}

// putWith puts a value, and perhaps waits for room.
func (p *stepPlayer) putWith(waits bool, o coalesce.PutOptions) func(*actor) {
	return func(*actor) {
		p.lingers = p.lingers && o == coalesce.PutOptions{}
		p.calm = p.calm && (o.Delay > 0 || o.Delay == 0 && p.linger > 0)
		value, err := stepValue{n: 1}, error(nil)
		switch o.Priority {
		case high:
			value.high = 1
		case low:
			value.low = 1
		}
		if !waits {
			err = p.PutWith("a", value, o)
		} else {
			p.putters++
			defer func() { p.putters-- }()
			err = p.PutContext(p.ctx, "a", value, o)
			p.next()
		}
		if err == nil {
			p.put++
		}
	}
}

func (p *stepPlayer) take(ctx context.Context, byKey bool) func(*actor) {
	return func(a *actor) {
		var claims [2]stepClaim
		if a.claim != nil {
			return
		}
		p.waiters++
		defer func() { p.waiters-- }()
		n, _ := p.ClaimBatch(ctx, claims[:])
		p.next()
		if n > 0 {
			p.calm = false
			a.claim, a.byKey = &claims[0], byKey
			if claims[0].Priority < claims[0].Item.Value.priority() {
				p.behind = append(p.behind, claims[0])
			}
		}
	}
}

// end ends the processing of an actor, if it is in one. With counts, its values
// leave.
func (p *stepPlayer) end(how func(stepClaim) error, counts bool) func(*actor) {
	return func(a *actor) {
		if a.claim == nil {
			return
		}
		c, e := *a.claim, a.claim.Item
		canceled, before, overlaps := c.Canceled(), p.cancels, p.canceling > 0
		a.claim = nil
		switch {
		case counts && a.byKey:
			p.out += e.Value.n
			p.Done(e.Key)
			return
		case a.byKey: // and the priority is not known
			if p.PutBack(e.Key, stepValue{n: e.Value.n}) != nil {
				p.out += e.Value.n
				p.Done(e.Key)
				return
			}
		default:
			if err := how(c); counts || errors.Is(err, shardq.ErrShutDown) {
				p.out += e.Value.n
				return
			}
		}
		if canceled {
			p.out += e.Value.n
		} else if overlaps || p.cancels != before {
			p.unsure += e.Value.n
		}
	}
}

// checkRest checks that the queue has what the coalescer has, and takes it.
func (p *stepPlayer) checkRest(t *rapid.T) {
	s := p.Stats()
	require.Equal(t, p.Len(), s.Held, "keys with values, and in the queue")
	require.LessOrEqual(t, s.Values.Lingering, s.Delayed)
	left := p.put - p.out
	require.Empty(t, p.behind, "claims whose values have a higher priority") // C77
	if p.readable {
		value, _ := p.Peek("a")
		require.Equal(t, value.n, min(max(value.n, left-p.unsure), left), "Peek")
		row, _ := p.Queue().Lookup("a")
		require.GreaterOrEqual(t, row.Priority, value.priority()) // C77
	}
	if p.calm && left > 0 && (p.least == 0 || uint32(left) < p.least) {
		require.Equal(t, 1, s.Delayed)
		require.True(t, !p.lingers || s.Values.Lingering == 1)
	}
	p.clock.Step(longestStep)
	p.clock.Step(time.Hour) // backoffs may follow a delay
	synctest.Wait()
	require.Zero(t, p.Stats().Delayed)
	for left > 0 {
		key, value, err := p.Take(atOnce())
		if err != nil && left <= p.unsure {
			break
		}
		require.NoError(t, err)
		left -= value.n
		p.Done(key)
	}
	s = p.Stats()
	require.Zero(t, min(left, 0)+p.Len()+s.Held+s.Values.Weight) // C56
	p.ShutDown()
	require.NoError(t, p.WaitIdle(context.Background()))
}
