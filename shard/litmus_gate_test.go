package shard

import (
	"fmt"
	"testing"
	"time"

	"github.com/shardq/shardq/stats"
)

// A barred set has an item that is not handed out yet.
type barred struct {
	*hourglass
	taken bool
}

func (b *barred) get() {
	_, shutdown := b.Get()
	b.taken = !shutdown
}

func (b *barred) outcome(int) string {
	switch {
	case b.taken:
		return "the item is taken"
	case b.Core.servableNow():
		return "a consumer is parked beside an item"
	}
	return "the consumer waits"
}

// litmusBarred lets an action that ends the waiting of an item meet a consumer
// that is about to park.
func litmusBarred(t *testing.T, config Config[int], bar, unbar func(h *hourglass)) {
	world := lastingHourglass(t, config, true, func(h *hourglass) {
		bar(h)
		h.Add(1)
	})
	litmus[*barred]{
		rounds:  20_000,
		world:   func(round int) *barred { return &barred{hourglass: world(round)} },
		actors:  []func(b *barred){func(b *barred) { unbar(b.hourglass) }, (*barred).get},
		outcome: (*barred).outcome,
		after: func(b *barred) {
			if b.taken {
				b.Done(1)
			}
			b.clock.Step(time.Minute) // the buckets are full
		},
		outcomes: verdicts{
			"the item is taken":                   certain,
			"a consumer is parked beside an item": forbidden,
			"the consumer waits":                  forbidden,
		},
	}.run(t)
}

// TestLitmusPauseAgainstPark: a pause of the set or of a group ends while a
// consumer parks. The consumer gets the item (C68, C69).
func TestLitmusPauseAgainstPark(t *testing.T) {
	group := func(int) string { return "group" }
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("shards=%d/queue", shards), func(t *testing.T) {
			litmusBarred(t, Config[int]{Settings: Settings{Shards: shards}},
				func(h *hourglass) { h.Core.Pause() }, func(h *hourglass) { h.Core.Resume() })
		})
		t.Run(fmt.Sprintf("shards=%d/group", shards), func(t *testing.T) {
			litmusBarred(t, Config[int]{Settings: Settings{Shards: shards}, Group: group},
				func(h *hourglass) { h.Core.PauseGroup("group", time.Time{}) },
				func(h *hourglass) { h.Core.ResumeGroup("group") })
		})
		t.Run(fmt.Sprintf("shards=%d/until", shards), func(t *testing.T) {
			litmusBarred(t, Config[int]{Settings: Settings{Shards: shards}, Group: group},
				func(h *hourglass) { h.Core.PauseGroup("group", h.clock.Now().Add(time.Second)) },
				func(h *hourglass) { h.clock.Step(time.Second) })
		})
	}
}

// TestLitmusGateAgainstPark: the time of a token comes while a consumer parks.
// The consumer gets the item (C67, C69).
func TestLitmusGateAgainstPark(t *testing.T) {
	rate := stats.Rate{PerSecond: 1}
	spend := func(h *hourglass) {
		h.Add(2)
		finish(h.Set)
	}
	step := func(h *hourglass) { h.clock.Step(time.Second) }
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("shards=%d/queue", shards), func(t *testing.T) {
			litmusBarred(t, Config[int]{Settings: Settings{Shards: shards, Rate: rate}}, spend, step)
		})
		t.Run(fmt.Sprintf("shards=%d/change", shards), func(t *testing.T) {
			litmusBarred(t, Config[int]{Settings: Settings{Shards: shards}},
				func(h *hourglass) { h.Core.SetRate(rate); spend(h) },
				func(h *hourglass) { h.Core.SetRate(stats.Rate{}) })
		})
		t.Run(fmt.Sprintf("shards=%d/group", shards), func(t *testing.T) {
			litmusBarred(t, Config[int]{
				Settings: Settings{
					Shards:      shards,
					GroupPolicy: func(string) stats.GroupPolicy { return stats.GroupPolicy{Rate: rate} },
				},
				Group: func(int) string { return "group" },
			}, spend, step)
		})
	}
}
