package shard

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

// A house is a full set with room for one item, which is in processing. Every
// other has two shards.
type house struct {
	*Set[int]
	ctx    context.Context
	cancel func()
	errs   [3]error // of the waiters for items 1 and 2
}

func newHouse(t tester, round int, config Config[int]) *house {
	h := &house{}
	config.Shards, config.Route = 1+round%2, parity
	h.Set = newTestSet(t, config)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.Add(0)
	h.TryTake()
	return h
}

// mutexes includes the lock of the waiters.
func (h *house) mutexes() []locker { return append(h.Set.mutexes(), h.Core.limit.Mutex()) }

func fullHouse(t tester) func(round int) *house {
	return func(round int) *house { return newHouse(t, round, Config[int]{Settings: Settings{Capacity: 1}}) }
}

func (h *house) ask(ctx context.Context, item int) { h.errs[item] = h.AddContext(ctx, item, Delay{}) }

// leave ends the waits.
func (h *house) leave() {
	h.cancel()
	h.Core.ShutDown()
	synctest.Wait()
}

// answers describes the results of the waiters, and how many items are held.
func (h *house) answers(asleep int) string {
	synctest.Wait() // for goroutines that are no actors
	answer := func(err error) string {
		switch err {
		case nil:
			return "in"
		case ErrFull:
			return "full"
		case ErrShutDown:
			return "refused"
		default:
			return "gone"
		}
	}
	synctest.Wait() // for waiters that came before the actors
	return fmt.Sprintf("1 %s, 2 %s, %d held, %d blocked", answer(h.errs[1]), answer(h.errs[2]), h.Core.limit.Held(), asleep)
}

// TestLitmusRoom: a waiter that comes while the room is released is granted it
// (C40).
func TestLitmusRoom(t *testing.T) {
	litmus[*house]{
		rounds: 50_000,
		world:  fullHouse(t),
		actors: []func(h *house){
			func(h *house) { h.Done(0) },
			func(h *house) { h.ask(context.Background(), 1) },
		},
		outcome: (*house).answers,
		after:   (*house).leave,
		outcomes: verdicts{
			"1 in, 2 in, 1 held, 0 blocked": certain,   // no waiter for 2
			"1 in, 2 in, 0 held, 1 blocked": forbidden, // there is room, and it is blocked
		},
	}.run(t)
}

// TestLitmusRoomPassedOn: room that was granted to a waiter whose context ends
// goes to the next, or is used. It is not lost.
func TestLitmusRoomPassedOn(t *testing.T) {
	litmus[*house]{
		rounds: 50_000,
		world: func(round int) *house {
			h := fullHouse(t)(round)
			go h.ask(h.ctx, 1)
			synctest.Wait()
			return h
		},
		actors: []func(h *house){
			func(h *house) { h.Done(0) },
			func(h *house) { h.cancel() },
			func(h *house) { h.ask(context.Background(), 2) },
		},
		outcome: (*house).answers,
		after:   (*house).leave,
		outcomes: verdicts{
			"1 gone, 2 in, 1 held, 0 blocked": certain,
			"1 in, 2 in, 1 held, 1 blocked":   certain,   // 1 is in, 2 is blocked
			"1 gone, 2 in, 0 held, 1 blocked": forbidden, // 2 is blocked, and there is room
			"1 gone, 2 in, 1 held, 1 blocked": forbidden, // 2 is blocked, and the room is lost
		},
	}.run(t)
}

// TestLitmusRoomAtShutDown: every waiter for room returns while the queue is
// shut down.
func TestLitmusRoomAtShutDown(t *testing.T) {
	litmus[*house]{
		rounds: 50_000,
		world:  fullHouse(t),
		actors: []func(h *house){
			func(h *house) { h.Core.ShutDown() },
			func(h *house) { h.ask(context.Background(), 1) },
			func(h *house) { h.ask(context.Background(), 2); h.Done(0) },
		},
		outcome: (*house).answers,
		after:   (*house).leave,
		outcomes: verdicts{
			"1 refused, 2 refused, 0 held, 0 blocked": certain,
			"1 in, 2 refused, 1 held, 0 blocked":      allowed, // it was in flight, in a shard of its own
			"1 in, 2 in, 1 held, 1 blocked":           forbidden,
		},
	}.run(t)
}
