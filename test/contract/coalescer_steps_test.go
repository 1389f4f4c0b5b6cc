package contract

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/testscale"
)

// steps are goroutines that stop before each step: when they read the clock or
// merge.
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

type actor struct {
	key   string // in processing, or ""
	value int
}

// Calls for one key run step by step, in a random order. No value is lost or
// doubled, and when they have ended, the queue has the keys with values alone.
func TestC54C78StepsInAnyOrder(t *testing.T) {
	testscale.Rapid(100_000)
	rapid.Check(t, func(t *rapid.T) { rapid.SyncTest(t, checkSteps) })
}

func checkSteps(t *rapid.T) {
	s := &steps{}
	put, out := 0, 0
	merged := func(a, b int) int { s.next(); return a + b }
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Queue: shardq.Options[string]{
			Shards: 1, Clock: hookedClock{newFake(), func(string) { s.next() }}, Ages: rapid.Bool().Draw(t, "Ages"),
		},
		Merge: merged, PutEndsBackoff: rapid.Bool().Draw(t, "PutEndsBackoff"), Readable: rapid.Bool().Draw(t, "Readable"),
		Linger: rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "Linger"),
	})
	with := func(o coalesce.PutOptions) func(*actor) {
		return func(*actor) {
			if c.PutWith("a", 1, o) == nil {
				put++
			}
		}
	}
	end := func(how func(a *actor) error) func(*actor) {
		return func(a *actor) {
			if a.key == "" {
				return
			}
			if how(a) != nil { // a shutdown has begun
				out += a.value
				c.Done(a.key)
			}
			a.key = ""
		}
	}
	done := end(func(a *actor) error { c.Done(a.key); out += a.value; return nil })
	calls := map[string]func(*actor){
		"Put": with(coalesce.PutOptions{}), "delay": with(coalesce.PutOptions{Delay: time.Hour}),
		"no delay": with(coalesce.PutOptions{Delay: -1}), "late": with(coalesce.PutOptions{Delay: 2 * time.Hour, Policy: shardq.KeepLatest}),
		"Cancel": func(*actor) {
			value, _ := c.Cancel("a")
			out += value
		},
		"Take": func(a *actor) {
			if a.key == "" {
				a.key, a.value, _ = c.Take(atOnce())
			}
		},
		"Done": done, "PutBack": end(func(a *actor) error { return c.PutBack(a.key, a.value) }),
		"Retry": end(func(a *actor) error { return c.Retry(a.key, a.value) }),
		"drain": func(*actor) {
			_, _ = c.Drain(atOnce(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed, Retries: shardq.AcceptRetries})
		},
	}
	names := []string{"Put", "Put", "delay", "no delay", "late", "Cancel", "Cancel", "Take", "Take", "Done", "PutBack", "PutBack", "Retry", "drain"}
	actors := make([]*actor, rapid.IntRange(2, 4).Draw(t, "actors"))
	for i := range actors {
		actors[i] = &actor{}
	}
	if rapid.Bool().Draw(t, "in processing") {
		calls["no delay"](nil)
		calls["Take"](actors[0])
	}
	s.on = true
	for _, a := range actors {
		program := rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(t, "program")
		go func() {
			for _, name := range program {
				s.next()
				calls[name](a)
			}
		}()
	}
	s.run(t)
	for _, a := range actors {
		done(a)
	}
	require.Equal(t, c.Len(), c.Stats().Held, "keys with values, and in the queue")
	for value, ok := c.Cancel("a"); ok; value, ok = c.Cancel("a") { // after a shutdown, one by one
		out += value
	}
	require.Equal(t, put, out)
	require.Zero(t, c.Len()+c.Stats().Held)
}
