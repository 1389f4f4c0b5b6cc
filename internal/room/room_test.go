package room

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

// A visitor asks for room of a weight in the line.
type visitor struct {
	weight int64
	cancel func()
	err    error // valid once it is settled
	done   bool
}

// come lets a visitor wait in the line, and arrive if it is let in. It belongs in a bubble.
func come(r *Room, weight int64) *visitor {
	ctx, cancel := context.WithCancel(context.Background())
	v := &visitor{weight: weight, cancel: cancel}
	go func() {
		v.err = r.Wait(ctx, weight)
		if v.err == nil {
			r.Arrive()
		}
		v.done = true
	}()
	synctest.Wait()
	return v
}

func (v *visitor) in() bool { synctest.Wait(); return v.done && v.err == nil }

func leave(r *Room, weight int64) {
	r.Leave(weight)
	r.Look()
}

// Who is first in the line waits until there is room for all of its weight, and nobody
// behind it goes ahead, though there were room for that.
func TestC40HeavyGuestIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(4, 0, 0, nil)
		require.True(t, r.TryEnter(4))
		heavy, light := come(r, 3), come(r, 1)
		for range 2 {
			leave(r, 1)
			assert.False(t, heavy.in())
			assert.False(t, light.in())
			assert.False(t, r.TryEnter(1))
		}
		leave(r, 1)
		assert.True(t, heavy.in())
		assert.False(t, light.in())
		leave(r, 3)
		assert.True(t, light.in())
		assert.EqualValues(t, 2, r.Held())
	})
}

// When the first in the line gives up, there may be room for the next.
func TestC40HeavyGuestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(4, 0, 0, nil)
		require.True(t, r.TryEnter(3))
		heavy, light := come(r, 2), come(r, 1)
		assert.False(t, light.in())
		heavy.cancel()
		assert.True(t, light.in())
		assert.ErrorIs(t, heavy.err, context.Canceled)
		assert.EqualValues(t, 4, r.Held())
	})
}

// What weighs more than the capacity has room when nothing else is held.
func TestC40MoreThanTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(4, 0, 0, nil)
		require.True(t, r.TryEnter(1))
		assert.False(t, r.TryEnter(5))
		huge, light := come(r, math.MaxInt64), come(r, 1)
		assert.False(t, huge.in())
		leave(r, 1)
		assert.True(t, huge.in())
		assert.False(t, light.in())
		leave(r, math.MaxInt64)
		assert.True(t, light.in())
		assert.Zero(t, r.Exceeded())
	})
}

func TestC40EnterExceeds(t *testing.T) {
	r := New(4, 0, 0, nil)
	r.Enter(4)
	assert.Zero(t, r.Exceeded())
	r.Enter(3)
	r.Enter(1)
	assert.EqualValues(t, 2, r.Exceeded())
	assert.EqualValues(t, 8, r.Held())
}

func TestC40ClosedRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(1, 0, 0, nil)
		r.Enter(1)
		waiting := come(r, 2)
		r.Close()
		synctest.Wait()
		assert.ErrorIs(t, waiting.err, ErrClosed)
		assert.ErrorIs(t, r.Wait(context.Background(), 1), ErrClosed)
	})
}

func TestC40NoRoomHasRoomForAll(t *testing.T) {
	r := New(0, 0, 0, nil)
	require.Nil(t, r)
	r.Enter(1)
	assert.True(t, r.TryEnter(math.MaxInt64))
	r.Leave(1)
	r.Look()
	r.Close()
	assert.Zero(t, r.Held())
	assert.Zero(t, r.Exceeded())
}

// TestModelOfTheLine plays random visits beside a model of a line in a slice.
func TestModelOfTheLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			capacity := rapid.Int64Range(1, 6).Draw(t, "capacity")
			m := &lineModel{capacity: capacity}
			r := New(capacity, 0, 0, nil)
			weights := rapid.Int64Range(1, 8)
			t.Repeat(map[string]func(*rapid.T){
				"come": func(t *rapid.T) {
					m.line = append(m.line, come(r, weights.Draw(t, "weight")))
					m.letIn()
				},
				"try": func(t *rapid.T) {
					weight := weights.Draw(t, "weight")
					if m.fits(weight) && len(m.line) == 0 {
						m.inside = append(m.inside, weight)
						assert.True(t, r.TryEnter(weight))
					} else {
						assert.False(t, r.TryEnter(weight))
					}
				},
				"enter": func(t *rapid.T) {
					weight := weights.Draw(t, "weight")
					m.inside = append(m.inside, weight)
					r.Enter(weight)
					r.Look()
				},
				"leave": func(t *rapid.T) {
					if len(m.inside) == 0 {
						t.Skip("nobody is in")
					}
					leave(r, m.leave(rapid.IntRange(0, len(m.inside)-1).Draw(t, "who")))
					m.letIn()
				},
				"give up": func(t *rapid.T) {
					if len(m.line) == 0 {
						t.Skip("nobody waits")
					}
					at := rapid.IntRange(0, len(m.line)-1).Draw(t, "who")
					m.line[at].cancel()
					synctest.Wait()
					m.line = append(m.line[:at], m.line[at+1:]...)
					m.letIn()
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					if r.Held() != m.held() {
						t.Fatalf("%d are held, not %d", r.Held(), m.held())
					}
					for _, v := range m.line {
						if v.done {
							t.Fatalf("somebody of weight %d did not wait: %v", v.weight, v.err)
						}
					}
				},
			})
			r.Close()
			synctest.Wait()
			for _, v := range m.line {
				if !errors.Is(v.err, ErrClosed) {
					t.Fatalf("who waits when the room is closed is told %v", v.err)
				}
			}
		})
	})
}

// A lineModel is a room in slices.
type lineModel struct {
	capacity int64
	inside   []int64
	line     []*visitor
}

func (m *lineModel) held() (sum int64) {
	for _, weight := range m.inside {
		sum += weight
	}
	return sum
}

func (m *lineModel) fits(weight int64) bool {
	return m.held() == 0 || m.held()+weight <= m.capacity
}

func (m *lineModel) letIn() {
	for len(m.line) > 0 && m.fits(m.line[0].weight) {
		m.inside = append(m.inside, m.line[0].weight)
		m.line = m.line[1:]
	}
}

func (m *lineModel) leave(at int) (weight int64) {
	weight = m.inside[at]
	m.inside = append(m.inside[:at], m.inside[at+1:]...)
	return weight
}
