package itemlimit

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A call is an Acquire in a goroutine of its own.
type call struct {
	weight int64
	cancel func()
	err    error // valid once done is true
	done   bool
}

// acquire starts an Acquire, which calls FinishAcquire if it is granted. It
// must be called in a bubble.
func acquire(l *Limiter, weight int64) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{weight: weight, cancel: cancel}
	go func() {
		c.err = l.Acquire(ctx, weight)
		if c.err == nil {
			l.FinishAcquire()
		}
		c.done = true
	}()
	synctest.Wait()
	return c
}

func (c *call) granted() bool { synctest.Wait(); return c.done && c.err == nil }

func release(l *Limiter, weight int64) {
	l.Release(weight)
	l.Notify()
}

// TestC40HeavyWaiterIsNotOvertaken: the first waiter waits until the capacity
// allows all of its weight. Later waiters do not overtake it, even if the
// capacity allows theirs.
func TestC40HeavyWaiterIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(4, 0, 0, nil)
		require.True(t, l.TryAcquire(4))
		heavy, light := acquire(l, 3), acquire(l, 1)
		for range 2 {
			release(l, 1)
			assert.False(t, heavy.granted())
			assert.False(t, light.granted())
			assert.False(t, l.TryAcquire(1))
		}
		release(l, 1)
		assert.True(t, heavy.granted())
		assert.False(t, light.granted())
		release(l, 3)
		assert.True(t, light.granted())
		assert.EqualValues(t, 2, l.Held())
	})
}

// TestC40HeavyWaiterIsCanceled: when the first waiter is canceled, the capacity
// may allow the next.
func TestC40HeavyWaiterIsCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(4, 0, 0, nil)
		require.True(t, l.TryAcquire(3))
		heavy, light := acquire(l, 2), acquire(l, 1)
		assert.False(t, light.granted())
		heavy.cancel()
		assert.True(t, light.granted())
		assert.ErrorIs(t, heavy.err, context.Canceled)
		assert.EqualValues(t, 4, l.Held())
	})
}

// TestC40MoreThanTheCapacity: a weight above the capacity is granted when
// nothing else is held.
func TestC40MoreThanTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(4, 0, 0, nil)
		require.True(t, l.TryAcquire(1))
		assert.False(t, l.TryAcquire(5))
		huge, light := acquire(l, math.MaxInt64), acquire(l, 1)
		assert.False(t, huge.granted())
		release(l, 1)
		assert.True(t, huge.granted())
		assert.False(t, light.granted())
		release(l, math.MaxInt64)
		assert.True(t, light.granted())
		assert.Zero(t, l.Exceeded())
	})
}

func TestC40ForceAcquireExceeds(t *testing.T) {
	l := New(4, 0, 0, nil)
	l.ForceAcquire(4)
	assert.Zero(t, l.Exceeded())
	l.ForceAcquire(3)
	l.ForceAcquire(1)
	assert.EqualValues(t, 2, l.Exceeded())
	assert.EqualValues(t, 8, l.Held())
}

func TestC40ClosedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 0, 0, nil)
		l.ForceAcquire(1)
		waiting := acquire(l, 2)
		l.Close()
		synctest.Wait()
		assert.ErrorIs(t, waiting.err, ErrClosed)
		assert.ErrorIs(t, l.Acquire(context.Background(), 1), ErrClosed)
	})
}

func TestC40NilLimiterGrantsAll(t *testing.T) {
	l := New(0, 0, 0, nil)
	require.Nil(t, l)
	l.ForceAcquire(1)
	assert.True(t, l.TryAcquire(math.MaxInt64))
	l.Release(1)
	l.Notify()
	l.Close()
	assert.Zero(t, l.Held())
	assert.Zero(t, l.Exceeded())
}

// TestLimiterAgainstModel runs random calls on a Limiter and on a model with
// slices.
func TestLimiterAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			capacity := rapid.Int64Range(1, 6).Draw(t, "capacity")
			m := &model{capacity: capacity}
			l := New(capacity, 0, 0, nil)
			weights := rapid.Int64Range(1, 8)
			t.Repeat(map[string]func(*rapid.T){
				"Acquire": func(t *rapid.T) {
					m.waiting = append(m.waiting, acquire(l, weights.Draw(t, "weight")))
					m.grant()
				},
				"TryAcquire": func(t *rapid.T) {
					weight := weights.Draw(t, "weight")
					if m.fits(weight) && len(m.waiting) == 0 {
						m.granted = append(m.granted, weight)
						assert.True(t, l.TryAcquire(weight))
					} else {
						assert.False(t, l.TryAcquire(weight))
					}
				},
				"ForceAcquire": func(t *rapid.T) {
					weight := weights.Draw(t, "weight")
					m.granted = append(m.granted, weight)
					l.ForceAcquire(weight)
					l.Notify()
				},
				"Release": func(t *rapid.T) {
					if len(m.granted) == 0 {
						t.Skip("nothing is held")
					}
					release(l, m.release(rapid.IntRange(0, len(m.granted)-1).Draw(t, "index")))
					m.grant()
				},
				"cancel": func(t *rapid.T) {
					if len(m.waiting) == 0 {
						t.Skip("nothing waits")
					}
					at := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "index")
					m.waiting[at].cancel()
					synctest.Wait()
					m.waiting = append(m.waiting[:at], m.waiting[at+1:]...)
					m.grant()
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					if l.Held() != m.held() {
						t.Fatalf("%d held, want %d", l.Held(), m.held())
					}
					for _, c := range m.waiting {
						if c.done {
							t.Fatalf("an Acquire of weight %d did not wait: %v", c.weight, c.err)
						}
					}
				},
			})
			l.Close()
			synctest.Wait()
			for _, c := range m.waiting {
				if !errors.Is(c.err, ErrClosed) {
					t.Fatalf("Acquire returned %v after Close, want ErrClosed", c.err)
				}
			}
		})
	})
}

// A model is a Limiter with slices.
type model struct {
	capacity int64
	granted  []int64
	waiting  []*call
}

func (m *model) held() (sum int64) {
	for _, weight := range m.granted {
		sum += weight
	}
	return sum
}

func (m *model) fits(weight int64) bool {
	return m.held() == 0 || m.held()+weight <= m.capacity
}

func (m *model) grant() {
	for len(m.waiting) > 0 && m.fits(m.waiting[0].weight) {
		m.granted = append(m.granted, m.waiting[0].weight)
		m.waiting = m.waiting[1:]
	}
}

func (m *model) release(at int) (weight int64) {
	weight = m.granted[at]
	m.granted = append(m.granted[:at], m.granted[at+1:]...)
	return weight
}
