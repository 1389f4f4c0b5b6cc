package shard

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/internal/testscale"
)

// Goroutines that hold and try a shard's lock exclude one another, and all of
// them come to an end: no wake-up is lost, and no parker is forgotten.
func TestLockExcludesAndForgetsNobody(t *testing.T) {
	for _, goroutines := range []int{2, 3, 8, 64} {
		t.Run(fmt.Sprint(goroutines), func(t *testing.T) {
			sh := newTestSet(t, Config[int]{Settings: Settings{Shards: 1}}).Core.shard(0)
			holds, inside := 0, atomic.Int32{}
			var done sync.WaitGroup
			each := testscale.N(200_000) / goroutines
			for g := range goroutines {
				done.Go(func() {
					for i := range each {
						if i%8 != 7 || !sh.tryLock() {
							sh.lock()
						}
						if inside.Add(1) != 1 {
							t.Error("two goroutines hold the lock")
						}
						holds++
						pause(g+i, 1+i%64)
						inside.Add(-1)
						sh.unlock()
					}
				})
			}
			done.Wait()
			require.Equal(t, each*goroutines, holds)
			require.Less(t, sh.mu.Load(), uint32(oneParker), "parkers are left")
			require.Zero(t, sh.mu.Load()&(held|fair))
		})
	}
}

// A lockModel is the protocol of lockWord in steps: what one goroutine does to
// the word or the token at once. TestLockModel visits each state that three
// goroutines can reach in any order of steps.
type lockModel struct {
	word  uint32
	token bool
	who   [3]contender
}

// A contender is a goroutine of the model, with what it does next.
type contender struct {
	step   lockStep
	holds  uint8 // that it has had
	woken  uint8 // in vain
	unfair bool
}

type lockStep uint8

const (
	stepLock     lockStep = iota // the fast way, or announce
	stepTry                      // parked: take the lock if it is free
	stepFair                     // set fair
	stepReceive                  // block until there is a token
	stepReceived                 // clear waking
	stepTidy                     // a holder: receive a token that nobody waits for
	stepTidied
	stepHold // free the lock
	stepWake // see whether to send
	stepSend
	stepDone
)

const (
	modelTolerance = 1
	modelHolds     = 2
)

// next returns the states that one step of goroutine g leads to: none if it is
// blocked or has ended.
func (m lockModel) next(g int) (states []lockModel) {
	w := &m.who[g]
	switch w.step {
	case stepLock:
		if m.word == 0 {
			m.word, w.step = held, stepHold
		} else {
			barge := m
			if barge.word&(held|fair) == 0 { // by tryLock, while it dwells
				barge.word |= held
				barge.who[g].step = stepHold
				states = append(states, barge)
			}
			m.word += oneParker
			w.step, w.woken, w.unfair = stepTry, 0, false
		}
	case stepTry:
		switch {
		case m.word&held == 0:
			m.word = (m.word | held) - oneParker
			if w.unfair {
				m.word &^= fair
			}
			if w.step = stepHold; m.word < oneParker && m.word&waking != 0 {
				w.step = stepTidy
			}
		case w.woken == modelTolerance:
			w.step = stepFair
		default:
			w.step = stepReceive
		}
	case stepFair:
		m.word |= fair
		w.unfair, w.step = true, stepReceive
	case stepReceive:
		if !m.token {
			return nil
		}
		m.token, w.step = false, stepReceived
	case stepReceived:
		m.word &^= waking
		w.woken = min(w.woken+1, modelTolerance+1)
		w.step = stepTry
	case stepTidy:
		if w.step = stepHold; m.token {
			m.token, w.step = false, stepTidied
		}
	case stepTidied:
		m.word &^= waking
		w.step = stepHold
	case stepHold:
		m.word -= held
		w.holds++
		if w.step = stepWake; m.word == 0 {
			w.again()
		}
	case stepWake:
		if m.word < oneParker || m.word&(held|waking) != 0 {
			w.again()
		} else {
			m.word |= waking
			w.step = stepSend
		}
	case stepSend:
		m.token = true
		w.again()
	case stepDone:
		return nil
	}
	return append(states, m)
}

func (w *contender) again() {
	w.woken, w.unfair = 0, false
	if w.step = stepLock; w.holds == modelHolds {
		w.step = stepDone
	}
}

func (w contender) inside() bool { return w.step >= stepTidy && w.step <= stepHold }

func TestLockModel(t *testing.T) {
	seen := map[lockModel]bool{{}: true}
	for states := []lockModel{{}}; len(states) > 0; {
		m := states[len(states)-1]
		states = states[:len(states)-1]
		stuck, ended, inside := true, 0, 0
		for g := range m.who {
			for _, next := range m.next(g) {
				if stuck = false; !seen[next] {
					seen[next] = true
					states = append(states, next)
				}
			}
			if m.who[g].step == stepDone {
				ended++
			}
			if m.who[g].inside() {
				inside++
			}
		}
		require.LessOrEqual(t, inside, 1, "%+v", m)
		require.True(t, !stuck || ended == len(m.who), "nobody goes on: %+v", m)
		require.True(t, ended < len(m.who) || m.word < oneParker && m.word&(held|fair) == 0, "%+v", m)
	}
	t.Log(len(seen), "states")
}
