package limiter

import (
	"math/big"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A model is a simple per-item limiter: a plain map, with its own computation
// of delays and of when a history expires.
type model struct {
	delay func(failures int) time.Duration
	after time.Duration
	now   time.Time
	items map[int]modelHistory
}

type modelHistory struct {
	failures int
	ends     time.Time
}

func (m *model) history(item int) modelHistory {
	h := m.items[item]
	if m.after > 0 && !m.now.Before(h.ends) {
		return modelHistory{}
	}
	return h
}

func (m *model) When(item int) time.Duration {
	h := m.history(item)
	delay := m.delay(h.failures)
	ends := m.now.Add(delay).Add(m.after)
	if ends.Before(h.ends) {
		ends = h.ends
	}
	m.items[item] = modelHistory{h.failures + 1, ends}
	return delay
}

func (m *model) Forget(item int)          { delete(m.items, item) }
func (m *model) NumRequeues(item int) int { return m.history(item).failures }

// modelExponential computes base·2ⁿ with numbers of any size.
func modelExponential(base, limit time.Duration) func(int) time.Duration {
	return func(failures int) time.Duration {
		exact := new(big.Int).Lsh(big.NewInt(int64(base)), uint(min(failures, 100))) // more than 100 exceeds every limit
		if exact.Sign() <= 0 || limit <= 0 {
			return 0
		}
		if most := big.NewInt(int64(limit)); exact.Cmp(most) > 0 {
			return limit
		}
		return time.Duration(exact.Int64())
	}
}

func modelFastSlow(fast, slow time.Duration, attempts int) func(int) time.Duration {
	return func(failures int) time.Duration {
		if failures+1 <= attempts {
			return max(0, fast)
		}
		return max(0, slow)
	}
}

// modelBackoff repeats all steps each time.
func modelBackoff(b Backoff) func(int) time.Duration {
	return func(failures int) (delay time.Duration) {
		steps := b
		for range failures + 1 {
			delay = steps.Step()
		}
		return delay
	}
}

// A pairing is a limiter and its model, on one clock.
type pairing struct {
	limiter Limiter[int]
	model   *model
	clock   *clock.Fake
}

func newPairing(after time.Duration, delay func(int) time.Duration, build func(Options) Limiter[int]) *pairing {
	fake := clock.NewFake(start)
	return &pairing{
		limiter: build(Options{Clock: fake, ForgetAfter: after}),
		model:   &model{delay: delay, after: after, now: start, items: map[int]modelHistory{}},
		clock:   fake,
	}
}

func (p *pairing) when(t require.TestingT, item int) {
	require.Equal(t, p.model.When(item), p.limiter.When(item), "When(%d)", item)
}

func (p *pairing) forget(item int) { p.model.Forget(item); p.limiter.Forget(item) }

func (p *pairing) count(t require.TestingT, item int) {
	require.Equal(t, p.model.NumRequeues(item), p.limiter.NumRequeues(item), "NumRequeues(%d)", item)
}

func (p *pairing) step(d time.Duration) { p.clock.Step(d); p.model.now = p.model.now.Add(d) }

// live returns the number of histories that have not expired.
func (p *pairing) live() (n int) {
	for item := range p.model.items {
		if p.model.NumRequeues(item) > 0 {
			n++
		}
	}
	return n
}

func drawPairing(t *rapid.T) *pairing {
	delay := rapid.Map(rapid.Int64Range(-2, 200), func(d int64) time.Duration { return time.Duration(d) })
	after := rapid.SampledFrom([]time.Duration{0, 1, 50, 1000, forever}).Draw(t, "ForgetAfter")
	a, b := delay.Draw(t, "first parameter"), delay.Draw(t, "second parameter")
	n := rapid.IntRange(-1, 8).Draw(t, "third parameter")
	recipe := Backoff{Duration: min(a, b), Factor: 2, Steps: n, Cap: max(a, b)}
	switch rapid.SampledFrom([]string{"exponential", "fast and slow", "backoff"}).Draw(t, "limiter") {
	case "exponential":
		return newPairing(after, modelExponential(a, b), func(o Options) Limiter[int] { return NewExponential[int](a, b, o) })
	case "fast and slow":
		return newPairing(after, modelFastSlow(a, b, n), func(o Options) Limiter[int] { return NewFastSlow[int](a, b, n, o) })
	default:
		return newPairing(after, modelBackoff(recipe), func(o Options) Limiter[int] { return NewItemBackoff[int](recipe, o) })
	}
}

func TestC29C31PerItemLimitersBehaveAsTheirModels(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPairing(rt)
		// A few items that fail repeatedly, or so many that tables grow.
		item := rapid.IntRange(0, rapid.SampledFrom([]int{3, 40, 3000}).Draw(rt, "items"))
		rt.Repeat(map[string]func(*rapid.T){
			"When":        func(rt *rapid.T) { p.when(rt, item.Draw(rt, "item")) },
			"Forget":      func(rt *rapid.T) { p.forget(item.Draw(rt, "item")) },
			"NumRequeues": func(rt *rapid.T) { p.count(rt, item.Draw(rt, "item")) },
			"Step":        func(rt *rapid.T) { p.step(time.Duration(rapid.IntRange(0, 300).Draw(rt, "step"))) },
			"When of many": func(rt *rapid.T) {
				for i := range rapid.IntRange(0, 500).Draw(rt, "items") {
					p.when(rt, 10*i)
				}
			},
			"Forget of many": func(rt *rapid.T) {
				for i := range rapid.IntRange(0, 500).Draw(rt, "items") {
					p.forget(10 * i)
				}
			},
			"": func(rt *rapid.T) {
				held := entries(t, p.limiter)
				require.GreaterOrEqual(rt, held, p.live())
				require.LessOrEqual(rt, held, len(p.model.items))
			},
		})
	})
}

func TestC32ManagerBehavesAsItsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		recipe := Backoff{
			Duration: time.Duration(rapid.IntRange(-2, 100).Draw(rt, "Duration")),
			Factor:   rapid.SampledFrom([]float64{0, 1, 2, 3}).Draw(rt, "Factor"),
			Steps:    rapid.IntRange(-1, 8).Draw(rt, "Steps"),
			Cap:      time.Duration(rapid.IntRange(-1, 1000).Draw(rt, "Cap")),
		}
		after := time.Duration(rapid.IntRange(0, 100).Draw(rt, "ForgetAfter"))
		fake := clock.NewFake(start)
		manager := NewManager(recipe, Options{Clock: fake, ForgetAfter: after})
		current, ends := recipe, start
		rt.Repeat(map[string]func(*rapid.T){
			"Step": func(rt *rapid.T) {
				now := fake.Now()
				if after > 0 && !now.Before(ends.Add(after)) {
					current = recipe
				}
				want := current.Step()
				if ends.Before(now.Add(want)) {
					ends = now.Add(want)
				}
				require.Equal(rt, want, manager.Step())
			},
			"Reset": func(*rapid.T) { current = recipe; manager.Reset() },
			"wait":  func(rt *rapid.T) { fake.Step(time.Duration(rapid.IntRange(0, 300).Draw(rt, "wait"))) },
		})
	})
}

// FuzzExponential reads bytes as calls on a few items, and compares with the
// model. Two bits select the call, six the item or the step of time.
func FuzzExponential(f *testing.F) {
	f.Add(int64(1), int64(1000), int64(0), []byte{0x00, 0x00, 0x01, 0x40, 0x80, 0x00, 0xff})
	f.Add(int64(5), int64(5), int64(10), []byte{0x00, 0xc1, 0x00, 0xff, 0x80, 0x00, 0x40, 0x80})
	f.Add(int64(-1), int64(-1), int64(-1), []byte{0x00, 0x80})
	f.Add(int64(1), int64(forever), int64(forever), make([]byte, 100))
	f.Fuzz(func(t *testing.T, base, limit, after int64, calls []byte) {
		delay := modelExponential(time.Duration(base), time.Duration(limit))
		p := newPairing(max(0, time.Duration(after)), delay, func(o Options) Limiter[int] {
			return NewExponential[int](time.Duration(base), time.Duration(limit), o)
		})
		for _, call := range calls {
			switch argument := int(call & 63); call >> 6 {
			case 0:
				p.when(t, argument)
			case 1:
				p.forget(argument)
			case 2:
				p.count(t, argument)
			default:
				if p.model.now.Sub(start) < forever/2 { // as far as clocks go
					p.step(time.Duration(1) << min(argument, 61)) // up to 73 years
				}
			}
		}
		require.GreaterOrEqual(t, entries(t, p.limiter), p.live())
		require.LessOrEqual(t, entries(t, p.limiter), len(p.model.items))
	})
}
