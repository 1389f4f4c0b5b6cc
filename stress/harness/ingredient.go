package harness

import (
	"fmt"
	"math/bits"
	"strings"
)

// An Ingredient is a feature of a round's mix. Ingredients is a set of them.
type (
	Ingredient  uint32
	Ingredients = Ingredient
)

const (
	// Readd has workers add the key that they hold.
	Readd Ingredient = 1 << iota
	// Delays has adds with a delay.
	Delays
	// Reschedules has further AddAfters for delayed keys, earlier and later.
	Reschedules
	// RateLimited has adds through the limiter, and Forgets.
	RateLimited
	// Misuse has surplus Dones, of ready, idle and unknown keys.
	Misuse
	// NaN has items that are not equal to themselves.
	NaN
	// Panics has limiters, hash functions and hooks that panic.
	Panics
	// Deaths has workers that panic or call Goexit.
	Deaths
	// Cancellations has Gets whose context ends.
	Cancellations
	// Bursts has producers that wait for rest between bursts.
	Bursts
	// Steps has a fake clock that the round steps.
	Steps
	// Observers has Len, Stats and NumRequeues during other operations.
	Observers
	// Batches has AddBatch, GetBatch and DoneBatch.
	Batches
	// Loops has workers that range over Items.
	Loops
	// Policies has AddWith, with all policies and bounds.
	Policies
	// Cancels has canceled adds.
	Cancels
	// Capacity has a capacity and watermarks, and adds that honor the capacity.
	Capacity
	// Ages has ages, OnStuck, and Snapshot and All during other operations.
	Ages
	// Priorities has adds with priorities, and Gets that return them.
	Priorities
	// Workers has worker.Pools, which are resized, in place of loops of Get and
	// Done.
	Workers
	// Groups has items in groups that take turns, in most rounds with a limit.
	Groups
	// Metrics has metrics, which a goroutine reads, with the page, all the
	// time.
	Metrics
	// Claims has consumers that call Claim, and late ends of claims.
	Claims
	// Pauses has pauses of the queue and its groups, and rates that change.
	Pauses
	// Windows has adds with NotAgainWithin.
	Windows

	endOfIngredients
)

// All has every ingredient.
const All = endOfIngredients - 1

// control has the ingredients that need the operations of section I or later
// ones.
const control = Batches | Loops | Policies | Cancels | Capacity | Ages | Priorities | Groups | Metrics | Claims | Pauses | Windows

var ingredientNames = [...]string{
	"readd", "delays", "reschedules", "ratelimited", "misuse", "nan", "panics", "deaths",
	"cancellations", "bursts", "steps", "observers",
	"batches", "loops", "policies", "cancels", "capacity", "ages", "priorities", "workers", "groups", "metrics", "claims",
	"pauses", "windows",
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
