package harness

import (
	"fmt"
	"math/bits"
	"strings"
)

// An Ingredient is something that a round may have in its mix; Ingredients is a set.
type (
	Ingredient  uint32
	Ingredients = Ingredient
)

const (
	// Readd: workers add the key that they have in hand.
	Readd Ingredient = 1 << iota
	// Delays: adds with a delay.
	Delays
	// Reschedules: more AddAfters for keys that wait, earlier and later.
	Reschedules
	// RateLimited: adds through the limiter, and Forgets.
	RateLimited
	// Misuse: Dones too many, of ready, idle and unknown keys.
	Misuse
	// NaN: items that are not equal to themselves.
	NaN
	// Panics: limiters, hash functions and hooks that panic.
	Panics
	// Deaths: workers that panic or call Goexit.
	Deaths
	// Cancellations: Gets whose context ends.
	Cancellations
	// Bursts: producers that wait for rest between bursts.
	Bursts
	// Steps: a fake clock that somebody steps.
	Steps
	// Onlookers: Len, Stats and NumRequeues beside everything else.
	Onlookers
	// Batches: AddBatch, GetBatch and DoneBatch.
	Batches
	// Loops: workers that range over Items.
	Loops
	// Policies: AddWith, with all policies and bounds.
	Policies
	// Cancels: adds that are taken back.
	Cancels
	// Room: a capacity and watermarks, and adds that ask for room.
	Room
	// Ages: ages, OnStuck, and Snapshot and All beside everything else.
	Ages
	// Priorities: adds with priorities, and Gets that ask for them.
	Priorities
	// Workers: those of NewWorkers, who are resized, in place of loops of Get and Done.
	Workers
	// Groups: items in groups that take turns, in most rounds with a limit.
	Groups
	// Metrics: metrics, and somebody who asks for them and for the page all the time.
	Metrics
	// Claims: consumers that take by Claim, and ends of claims that come too late.
	Claims

	endOfIngredients
)

// All is every ingredient.
const All = endOfIngredients - 1

// control is what only a queue with the operations of section I, and those that came later, can
// have.
const control = Batches | Loops | Policies | Cancels | Room | Ages | Priorities | Groups | Metrics | Claims

var ingredientNames = [...]string{
	"readd", "delays", "reschedules", "ratelimited", "misuse", "nan", "panics", "deaths",
	"cancellations", "bursts", "steps", "onlookers",
	"batches", "loops", "policies", "cancels", "room", "ages", "priorities", "run", "groups", "metrics", "claims",
}

// Has reports whether all of some ingredients are in the set.
func (i Ingredients) Has(some Ingredients) bool { return i&some == some }

func (i Ingredients) String() string {
	if i == 0 {
		return "none"
	}
	var names []string
	for rest := i; rest != 0; rest &= rest - 1 {
		names = append(names, ingredientNames[bits.TrailingZeros32(uint32(rest))])
	}
	return strings.Join(names, ",")
}

// ParseIngredients reads a list of names, separated by commas, "all" or "none".
func ParseIngredients(list string) (set Ingredients, err error) {
	switch list {
	case "all":
		return All, nil
	case "none":
		return 0, nil
	}
next:
	for _, name := range strings.Split(list, ",") {
		for n, known := range ingredientNames {
			if name == known {
				set |= 1 << n
				continue next
			}
		}
		return 0, fmt.Errorf("no ingredient is called %q: want all, none, or some of %s",
			name, strings.Join(ingredientNames[:], ","))
	}
	return set, nil
}
