package contract

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/internal/testscale"
)

// TestQueueBehavesAsItsModel compares the queue with the model in random
// programs. This runs more and longer ones:
//
//	go test -run TestQueueBehavesAsItsModel -rapid.checks=10000 -rapid.steps=200
func TestQueueBehavesAsItsModel(t *testing.T) {
	testscale.Rapid(100)
	variants := []struct {
		name   string
		shards *rapid.Generator[int]
		clock  string
	}{
		{"one shard", rapid.Just(1), "fake"},
		{"many shards", drawChoice(shardChoices), "fake"},
		{"real clock", drawChoice(shardChoices), "real"},
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			for range rounds {
				rapid.Check(t, func(rt *rapid.T) {
					rapid.SyncTest(rt, func(rt *rapid.T) {
						s := setups.Draw(rt, "setup")
						s.shards, s.clock = v.shards.Draw(rt, "shards"), v.clock
						playAtRandom(rt, s)
					})
				})
			}
		})
	}
}

// rounds multiplies rapid's number of programs, and stretches its length of a
// program, which is meant for slower calls.
const rounds, stretches = 8, 3

// playAtRandom draws calls, plays them, and finishes the program.
func playAtRandom(rt *rapid.T, s setup) {
	p := newPlayer(rt, s)
	defer p.release()
	for range stretches {
		rt.Repeat(map[string]func(*rapid.T){
			"call": func(rt *rapid.T) { p.play(calls.Draw(rt, "call")) },
		})
	}
	p.finish()
}

var setups = rapid.Custom(func(rt *rapid.T) setup {
	return setup{
		tick:             drawChoice(tickChoices).Draw(rt, "tick"),
		cancelDelayOnAdd: drawChoice(cancelChoices).Draw(rt, "cancelDelayOnAdd"),
		routing:          drawChoice(routingChoices).Draw(rt, "routing"),
		limiter:          drawChoice(limiterChoices).Draw(rt, "limiter"),
		items:            drawChoice(itemChoices).Draw(rt, "items"),
		capacity:         drawChoice(capacityChoices).Draw(rt, "capacity"),
		marks:            drawChoice(markChoices).Draw(rt, "marks"),
		ages:             drawChoice(ageChoices).Draw(rt, "ages"),
	}
})

var calls = rapid.Custom(func(rt *rapid.T) call {
	return call{
		kind:   callKind(rapid.SampledFrom([]byte(callMix)).Draw(rt, "call")),
		times:  rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 2, 3, 40}).Draw(rt, "times"),
		item:   rapid.IntRange(0, rapid.SampledFrom([]int{3, 20}).Draw(rt, "items")).Draw(rt, "item"),
		number: rapid.IntRange(-1, 9).Draw(rt, "number"),
		duration: span{
			unit:  drawLetter(spanUnits).Draw(rt, "unit"),
			count: rapid.IntRange(-2, 40).Draw(rt, "count"),
		},
		bound: span{
			unit:  drawLetter(spanUnits).Draw(rt, "unit of the bound"),
			count: rapid.IntRange(-2, 40).Draw(rt, "count of the bound"),
		},
	}
})

func drawChoice[V any](choices []choice[V]) *rapid.Generator[V] {
	return rapid.Map(rapid.SampledFrom(choices), func(c choice[V]) V { return c.value })
}

func drawLetter[V any](choices []choice[V]) *rapid.Generator[byte] {
	return rapid.Map(rapid.SampledFrom(choices), func(c choice[V]) byte { return c.letter })
}
