package contract

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Random calls beside a model of maps. The model says which keys are ready
// when, with which value and which priority.
func TestCoalescerBehavesAsItsModel(t *testing.T) {
	testscale.Rapid(60_000)
	rapid.Check(t, func(rt *rapid.T) {
		p := newCoalescerPlayer(rt)
		defer p.ShutDown()
		rt.Repeat(p.calls())
		p.end(rt)
	})
}

// A coalescerPlayer plays calls to a coalescer and to its model.
type coalescerPlayer struct {
	*coalesce.Coalescer[string, string]
	operator stats.Operator
	model    *coalescerModel
	clock    *clock.Fake
	// claims has the claims to keys in processing. A key that a Take returned
	// has none.
	claims   map[string]worker.Claim[coalesce.Entry[string, string]]
	keys     []string
	readable bool
	strict   bool // a Take returns a key of the highest priority
	put      int  // the number of the last value
}

const firstBackoff, longestBackoff = 20 * time.Second, 5 * time.Minute

var (
	modelKeys     = []string{"a", "b", "c", "d"}
	modelPolicies = []shardq.DelayPolicy{shardq.KeepEarliest, shardq.KeepLatest, shardq.KeepNew, shardq.KeepOld}
)

func newCoalescerPlayer(rt *rapid.T) *coalescerPlayer {
	p := &coalescerPlayer{
		model: &coalescerModel{
			capacity: rapid.IntRange(0, 8).Draw(rt, "capacity"),
			weighed:  rapid.Bool().Draw(rt, "weighed"),
			putEnds:  rapid.Bool().Draw(rt, "PutEndsBackoff"),
			linger:   drawDuration(rt, "Linger", 0, 10*time.Second, 10*time.Second, 2*time.Minute),
			keys:     map[string]*modelKey{},
		},
		clock:    newFake(),
		readable: rapid.Bool().Draw(rt, "Readable"),
		claims:   map[string]worker.Claim[coalesce.Entry[string, string]]{},
	}
	m := p.model
	m.now = p.clock.Now()
	if m.linger > 0 {
		m.lingerValues = rapid.IntRange(0, 4).Draw(rt, "LingerValues")
	}
	p.keys = modelKeys[:rapid.IntRange(1, len(modelKeys)).Draw(rt, "keys")]
	for _, key := range p.keys {
		m.keys[key] = &modelKey{}
	}
	shards := rapid.SampledFrom([]int{1, 2, 16}).Draw(rt, "shards")
	p.strict = shards == 1
	p.Coalescer = newJoiner(shards, capacityOf(m.capacity), lingering(m.linger, m.lingerValues),
		func(o *coalesce.Options[string, string]) {
			o.Queue.Clock = p.clock
			o.Queue.RateLimiter = limiter.NewExponential[string](firstBackoff, longestBackoff)
			o.PutEndsBackoff, o.Readable = m.putEnds, p.readable
			if m.weighed {
				weighed(o)
			}
		})
	p.operator = p.Inspect().Operator()
	return p
}

func drawDuration(rt *rapid.T, label string, from ...time.Duration) time.Duration {
	return rapid.SampledFrom(from).Draw(rt, label)
}

func (p *coalescerPlayer) drawKey(rt *rapid.T) string {
	return rapid.SampledFrom(p.keys).Draw(rt, "key")
}

// calls are what may happen next. The one without a name comes after each.
func (p *coalescerPlayer) calls() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"":                       p.check,
		"Put":                    p.playPut,
		"TryPut":                 p.playTryPut,
		"PutWith":                p.playPutWith,
		"Cancel":                 p.playCancel,
		"Cancel of the Operator": p.playOperatorCancel,
		"RetryNow":               p.playRetryNow,
		"Take":                   p.playTake,
		"TakeBatch":              p.playTakeBatch,
		"Claim":                  p.playClaim,
		"ClaimBatch":             p.playClaimBatch,
		"Done":                   p.playDone,
		"PutBack":                p.playPutBack,
		"Retry":                  p.playRetry,
		"RequeueAfter":           p.playRequeueAfter,
		"pass time":              p.passTime,
	}
}

func (p *coalescerPlayer) nextValue() string {
	p.put++
	return strconv.Itoa(p.put) + "."
}

func (p *coalescerPlayer) playPut(rt *rapid.T) {
	key, value := p.drawKey(rt), p.nextValue()
	if err := p.Put(key, value); err != nil {
		rt.Fatal(err)
	}
	p.model.Put(key, value, coalesce.PutOptions{})
}

func (p *coalescerPlayer) playTryPut(rt *rapid.T) {
	key, value := p.drawKey(rt), p.nextValue()
	fits := p.model.fits(key, value)
	if err := p.TryPut(key, value); (err == nil) != fits {
		rt.Fatalf("%v, though it fits: %v", err, fits)
	}
	if fits {
		p.model.Put(key, value, coalesce.PutOptions{})
	}
}

func (p *coalescerPlayer) playPutWith(rt *rapid.T) {
	key, value := p.drawKey(rt), p.nextValue()
	options := coalesce.PutOptions{
		Delay:    drawDuration(rt, "delay", 0, 0, -1, 5*time.Second, 30*time.Second, 3*time.Minute),
		Policy:   rapid.SampledFrom(modelPolicies).Draw(rt, "policy"),
		MaxWait:  drawDuration(rt, "MaxWait", 0, 0, 7*time.Second, 50*time.Second),
		Priority: rapid.SampledFrom([]int{0, 0, 3, 7, -2}).Draw(rt, "priority"),
	}
	if err := p.PutWith(key, value, options); err != nil {
		rt.Fatal(err)
	}
	p.model.Put(key, value, options)
}

func (p *coalescerPlayer) playCancel(rt *rapid.T) {
	key := p.drawKey(rt)
	value, ok := p.Cancel(key)
	if want := p.model.keys[key].pending; ok != (want != "") || value != want {
		rt.Fatalf("canceled %q of %s, not %q", value, key, want)
	}
	p.model.keys[key].drop()
}

func (p *coalescerPlayer) playOperatorCancel(rt *rapid.T) {
	key := p.drawKey(rt)
	if was, want := p.operator.Cancel(key), p.model.Canceled(key); was != want {
		rt.Fatalf("canceled %s as %+v, not %+v", key, was, want)
	}
	p.model.keys[key].drop()
}

func (p *coalescerPlayer) playRetryNow(rt *rapid.T) {
	key := p.drawKey(rt)
	k := p.model.keys[key]
	if ended := p.operator.RetryNow(key); ended != k.isDelayed() {
		rt.Fatalf("ended a delay of %s: %v", key, ended)
	}
	if k.isDelayed() {
		k.makeReady()
	}
}

func (p *coalescerPlayer) skipUnlessReady(rt *rapid.T) {
	if p.model.count((*modelKey).isReady) == 0 {
		rt.Skip("nothing is ready")
	}
}

// accept checks a value that was taken.
func (p *coalescerPlayer) accept(rt *rapid.T, key, value string) {
	k := p.model.keys[key]
	if !k.isReady() || value != k.pending {
		rt.Fatalf("took %q of %s: %+v", value, key, *k)
	}
	for other, o := range p.model.keys {
		if p.strict && o.isReady() && o.priority > k.priority {
			rt.Fatalf("took %s of priority %d before %s of %d", key, k.priority, other, o.priority)
		}
	}
	p.model.Take(key)
}

func (p *coalescerPlayer) acceptClaim(rt *rapid.T, claim worker.Claim[coalesce.Entry[string, string]]) {
	key := claim.Item.Key
	if want := p.model.keys[key].priority; claim.Priority != want {
		rt.Fatalf("claimed %s with priority %d, not %d", key, claim.Priority, want)
	}
	p.accept(rt, key, claim.Item.Value)
	p.claims[key] = claim
}

func (p *coalescerPlayer) playTake(rt *rapid.T) {
	p.skipUnlessReady(rt)
	key, value, err := p.Take(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	p.accept(rt, key, value)
}

func (p *coalescerPlayer) playTakeBatch(rt *rapid.T) {
	p.skipUnlessReady(rt)
	dst := make([]coalesce.Entry[string, string], rapid.IntRange(1, 5).Draw(rt, "size"))
	n, err := p.TakeBatch(context.Background(), dst)
	if err != nil || n == 0 {
		rt.Fatal(n, err)
	}
	for _, e := range dst[:n] {
		p.accept(rt, e.Key, e.Value)
	}
}

func (p *coalescerPlayer) playClaim(rt *rapid.T) {
	p.skipUnlessReady(rt)
	claim, err := p.Claim(context.Background())
	if err != nil {
		rt.Fatal(err)
	}
	p.acceptClaim(rt, claim)
}

func (p *coalescerPlayer) playClaimBatch(rt *rapid.T) {
	p.skipUnlessReady(rt)
	dst := make([]worker.Claim[coalesce.Entry[string, string]], rapid.IntRange(1, 5).Draw(rt, "size"))
	n, err := p.ClaimBatch(context.Background(), dst)
	if err != nil || n == 0 {
		rt.Fatal(n, err)
	}
	for _, claim := range dst[:n] {
		p.acceptClaim(rt, claim)
	}
}

// finish ends a processing by its claim or, without one, by its key and value.
func (p *coalescerPlayer) finish(rt *rapid.T, key string,
	byClaim func(worker.Claim[coalesce.Entry[string, string]]) error, byKey func(key, value string) error,
) (priority int) {
	claim, claimed := p.claims[key]
	delete(p.claims, key)
	err := error(nil)
	if claimed {
		err = byClaim(claim)
	} else {
		err = byKey(key, p.model.keys[key].taken)
	}
	if err != nil {
		rt.Fatal(err)
	}
	return claim.Priority
}

func (p *coalescerPlayer) drawTaken(rt *rapid.T) string {
	taken := slices.DeleteFunc(slices.Clone(p.keys), func(key string) bool { return !p.model.keys[key].isBusy() })
	if len(taken) == 0 {
		rt.Skip("nothing is taken")
	}
	return rapid.SampledFrom(taken).Draw(rt, "key")
}

func (p *coalescerPlayer) playDone(rt *rapid.T) {
	key := p.drawTaken(rt)
	p.finish(rt, key, worker.Claim[coalesce.Entry[string, string]].Done, func(key, _ string) error {
		p.Done(key)
		return nil
	})
	k := p.model.keys[key]
	k.taken, k.failures = "", 0
}

func (p *coalescerPlayer) playPutBack(rt *rapid.T) {
	key := p.drawTaken(rt)
	priority := p.finish(rt, key, worker.Claim[coalesce.Entry[string, string]].Release, p.PutBack)
	p.model.GiveBack(key, priority, 0)
}

func (p *coalescerPlayer) playRetry(rt *rapid.T) {
	key := p.drawTaken(rt)
	priority := p.finish(rt, key, worker.Claim[coalesce.Entry[string, string]].Retry, p.Retry)
	k := p.model.keys[key]
	p.model.GiveBack(key, priority, min(firstBackoff<<k.failures, longestBackoff))
	k.failures++
}

func (p *coalescerPlayer) playRequeueAfter(rt *rapid.T) {
	key := p.drawTaken(rt)
	claim, claimed := p.claims[key]
	if !claimed {
		rt.Skip("not claimed")
	}
	delete(p.claims, key)
	after := drawDuration(rt, "after", 0, 5*time.Second, time.Minute)
	if err := claim.RequeueAfter(after); err != nil {
		rt.Fatal(err)
	}
	p.model.GiveBack(key, claim.Priority, after)
	p.model.keys[key].failures = 0
}

// passTime steps the clock, by preference to the end of a wait or to the tick
// before.
func (p *coalescerPlayer) passTime(rt *rapid.T) {
	next := p.model.Next()
	step := drawDuration(rt, "step", next, max(next-time.Millisecond, 0), time.Second, 10*time.Second, 5*time.Minute)
	p.model.Step(step)
	p.clock.Step(step)
}

// check compares everything that can be seen.
func (p *coalescerPlayer) check(rt *rapid.T) {
	m, queue := p.model, p.Queue()
	for _, key := range p.keys {
		k := m.keys[key]
		if want := k.taken + k.pending; p.readable {
			if value, _ := p.Peek(key); value != want {
				rt.Fatalf("%s has %q, not %q", key, value, want)
			}
		}
		item, held := queue.Lookup(key)
		want, wantHeld := m.Item(key)
		want.Shard, want.Since = item.Shard, item.Since // not modeled
		if k.isBusy() && k.isDelayed() {
			want.Priority = item.Priority // not known yet
		}
		if held != wantHeld || item != want {
			rt.Fatalf("the queue has %+v, %v, not %+v, %v", item, held, want, wantHeld)
		}
	}
	stats := p.Stats()
	if seen := *queue.Stats().Values; seen != *stats.Values {
		rt.Fatalf("the queue says %+v, not %+v", seen, stats.Values)
	}
	if n, want := queue.Len(), m.count((*modelKey).isReady); n != want {
		rt.Fatalf("%d are ready, not %d", n, want)
	}
	if n, want := stats.Processing, m.count((*modelKey).isBusy); n != want {
		rt.Fatalf("%d in processing, not %d", n, want)
	}
	if n, want := stats.Delayed, m.count((*modelKey).isDelayed); n != want {
		rt.Fatalf("%d are delayed, not %d", n, want)
	}
	p.checkValues(rt)
}

func (p *coalescerPlayer) checkValues(rt *rapid.T) {
	m, v := p.model, p.Stats().Values
	if keys := m.count(func(k *modelKey) bool { return k.pending != "" }); v.Keys != keys || p.Len() != keys {
		rt.Fatalf("%+v, not %d keys", v, keys)
	}
	if v.Weight != m.weight() || v.Put != m.put || v.Merged != m.merged || v.Capacity != m.capacity {
		rt.Fatalf("%+v, not a weight of %d, %d put, %d merged, and a capacity of %d", v, m.weight(), m.put, m.merged, m.capacity)
	}
	// A wait that has ended may count as a linger while another one is running.
	least, most := m.count(func(k *modelKey) bool { return k.phase == valueLingers }), m.count((*modelKey).isDelayed)
	if v.Lingering < least || v.Lingering > most {
		rt.Fatalf("%+v: %d linger, and %d are delayed", v, least, most)
	}
}

// end begins a drain that drops what is delayed. What lingers is ready then.
func (p *coalescerPlayer) end(rt *rapid.T) {
	dropped, _ := p.Drain(endedContext(), shardq.DrainOptions{})
	ready := 0
	for _, k := range p.model.keys {
		if k.phase == valueLingers {
			k.makeReady()
		}
		if k.isReady() {
			ready++
		}
	}
	if n := p.Queue().Len(); n != ready {
		rt.Fatalf("a drain has left %d ready keys, not %d", n, ready)
	}
	values := map[string]string{} // a key may have several that are not merged yet
	for _, e := range dropped {
		values[e.Key] += e.Value
	}
	for key, value := range values {
		k := p.model.keys[key]
		if !k.isDelayed() || value != k.pending {
			rt.Fatalf("a drain has dropped %q of %s: %+v", value, key, *k)
		}
		k.drop()
	}
	if n := p.model.count((*modelKey).isDelayed); n != 0 {
		rt.Fatalf("a drain has not dropped %d values", n)
	}
}
