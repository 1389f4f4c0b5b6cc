package itemlimit

import (
	"context"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
)

// A call is an Acquire in a goroutine of its own.
type call struct {
	weight int64
	cancel func()
	err    error // valid once done is true
	done   bool
}

// acquire starts an Acquire. It must be called in a bubble.
func acquire(l *Limiter, weight int64) *call {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{weight: weight, cancel: cancel}
	go func() {
		c.err = l.Acquire(ctx, weight)
		c.done = true
	}()
	synctest.Wait()
	return c
}

// TestC40MoreThanTheCapacity: the greatest weight is granted when nothing else
// is held, and no sum overflows.
func TestC40MoreThanTheCapacity(t *testing.T) {
	l := New(4, 0, 0, nil)
	require.True(t, l.TryAcquire(1))
	require.False(t, l.TryAcquire(math.MaxInt64))
	l.Release(1)
	require.True(t, l.TryAcquire(math.MaxInt64))
	require.False(t, l.TryAcquire(1))
	require.Zero(t, l.Exceeded())
}

// TestC40LimiterAgainstModel runs random calls on a Limiter and on a model with
// slices.
func TestC40LimiterAgainstModel(t *testing.T) {
	testscale.Rapid(2_000)
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			m := &model{capacity: rapid.Int64Range(1, 6).Draw(t, "capacity")}
			low := rapid.Int64Range(0, 5).Draw(t, "low")
			high := rapid.Int64Range(low+1, 7).Draw(t, "high")
			reported := false
			l := New(m.capacity, high, low, func(is bool) {
				require.NotEqual(t, reported, is)
				reported = is
			})
			weights := rapid.Int64Range(1, 8)
			t.Repeat(map[string]func(*rapid.T){
				"Acquire": func(t *rapid.T) {
					m.waiting = append(m.waiting, acquire(l, weights.Draw(t, "weight")))
				},
				"TryAcquire": func(t *rapid.T) {
					weight := weights.Draw(t, "weight")
					fits := m.fits(weight) && len(m.waiting) == 0 && m.unfinished == nil
					require.Equal(t, fits, l.TryAcquire(weight))
					if fits {
						m.granted = append(m.granted, weight)
					}
				},
				"ForceAcquire": func(t *rapid.T) {
					m.granted = append(m.granted, weights.Draw(t, "weight"))
					l.ForceAcquire(m.granted[len(m.granted)-1])
					l.Notify()
					if m.held() > m.capacity {
						m.exceeded++
					}
				},
				"Release": func(t *rapid.T) {
					if len(m.granted) > 0 {
						at := rapid.IntRange(0, len(m.granted)-1).Draw(t, "index")
						l.Release(m.granted[at])
						l.Notify()
						m.granted = append(m.granted[:at], m.granted[at+1:]...)
					}
				},
				"cancel": func(t *rapid.T) {
					if len(m.waiting) > 0 {
						at := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "index")
						canceled := m.waiting[at]
						canceled.cancel()
						synctest.Wait()
						require.ErrorIs(t, canceled.err, context.Canceled)
						m.waiting = append(m.waiting[:at], m.waiting[at+1:]...)
					}
				},
				"FinishAcquire": func(t *rapid.T) {
					if m.unfinished != nil {
						m.unfinished = nil
						l.FinishAcquire()
					}
				},
				"": func(t *rapid.T) {
					m.grant()
					synctest.Wait()
					l.watermarks.notify(&l.held) // Notify would also grant
					require.Equal(t, m.held(), l.Held())
					require.Equal(t, m.exceeded, l.Exceeded())
					require.False(t, reported && m.held() <= low || !reported && m.held() >= high, "watermark")
					for _, c := range m.waiting {
						require.False(t, c.done, "an Acquire of weight %d did not wait: %v", c.weight, c.err)
					}
				},
			})
			require.True(t, m.unfinished == nil || m.unfinished.done && m.unfinished.err == nil)
			l.Close()
			synctest.Wait()
			require.ErrorIs(t, l.Acquire(context.Background(), 1), ErrClosed)
			for _, c := range m.waiting {
				require.ErrorIs(t, c.err, ErrClosed)
			}
		})
	})
}

// A model is a Limiter with slices.
type model struct {
	capacity int64
	granted  []int64
	waiting  []*call
	exceeded uint64
	// unfinished is granted. The others wait for its FinishAcquire.
	unfinished *call
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
	if m.unfinished == nil && len(m.waiting) > 0 && m.fits(m.waiting[0].weight) {
		m.unfinished, m.waiting = m.waiting[0], m.waiting[1:]
		m.granted = append(m.granted, m.unfinished.weight)
	}
}
