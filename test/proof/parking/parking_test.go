// Package parking has parking.pml, a model of how consumers park and wake. Spin
// searches all its states. README.md says what that proves.
package parking

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/test/proof/internal/spin"
)

const model = "parking.pml"

// A configuration is a set of flags with which the model is safe.
type configuration struct {
	name  string
	flags string
	// formula is the liveness formula, if Spin searches for liveness.
	formula string
	// long says that only SHARDQ_SOAK=1 runs it.
	long bool
}

// configurations have as many processes as possible: with two more, the states
// do not fit into memory.
var configurations = []configuration{
	{name: "one shard, a context", flags: "SHARDS=1 PRODUCERS=1 ADDS=1 CONSUMERS=2 CANCELS=1 RERUNS=1"},
	{name: "a shutdown", flags: "PRODUCERS=1 ADDS=1 CONSUMERS=2 RERUNS=1"},
	{name: "a shutdown, shards in two words", flags: "SHARDS_PER_WORD=1 PRODUCERS=1 ADDS=1 CONSUMERS=2"},
	{name: "two contexts", flags: "PRODUCERS=1 ADDS=1 CONSUMERS=2 CANCELS=2 SHUTDOWN=0 RERUNS=1"},
	{name: "two producers, two consumers", flags: "PRODUCERS=2 ADDS=1 CONSUMERS=2 SHUTDOWN=0"},

	{name: "everyone is served", flags: "SHARDS=1 PRODUCERS=2 ADDS=1 CONSUMERS=2 SHUTDOWN=0 HANDLERS_NEVER_RETURN", formula: "SERVED"},
	{name: "everyone is released", flags: "SHARDS=1 PRODUCERS=1 ADDS=1 CONSUMERS=2", formula: "RELEASED"},

	{name: "one shard, two producers, a context, a shutdown", flags: "SHARDS=1 PRODUCERS=2 ADDS=2 CONSUMERS=2 CANCELS=1", long: true},
	{name: "two producers, a context, a shutdown", flags: "PRODUCERS=2 ADDS=1 CONSUMERS=2 CANCELS=1", long: true},
	{name: "a producer, two contexts, a shutdown, dirty items", flags: "PRODUCERS=1 ADDS=1 CONSUMERS=2 CANCELS=2 RERUNS=1", long: true},
	{name: "two producers, a shutdown, shards in two words", flags: "SHARDS_PER_WORD=1 PRODUCERS=2 ADDS=1 CONSUMERS=2", long: true},
	{name: "three consumers, a context, a shutdown", flags: "PRODUCERS=1 ADDS=1 CONSUMERS=3 CANCELS=1", long: true},
	{name: "three shards in two words, dirty items", flags: "SHARDS=3 PRODUCERS=1 ADDS=3 ANY_SHARD CONSUMERS=2 SHUTDOWN=0 RERUNS=1", long: true},
	{name: "everyone is served, shards in two words, handlers return", flags: "SHARDS_PER_WORD=1 PRODUCERS=2 ADDS=1 CONSUMERS=2 SHUTDOWN=0", formula: "SERVED", long: true},
	{name: "everyone is released, two shards, dirty items", flags: "PRODUCERS=1 ADDS=1 CONSUMERS=2 RERUNS=1", formula: "RELEASED", long: true},
}

// A variant is a flag that breaks the model in one place.
type variant struct {
	name string
	// flags are those of a small configuration in which the variant does harm.
	flags   string
	formula string
	harm    string
}

// These are the harms, as Spin reports them.
const (
	lostWakeUp          = "!(lostWakeUp)"
	parkedAfterShutDown = "!(parkedAfterShutDown)"
	leftBehind          = "!(leftBehind)"
	lostItem            = "!(lostItem)"
	twoTokens           = "!(twoTokens)"
	cycle               = "acceptance cycle"
)

var variants = []variant{
	{name: "NO_RESCAN", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_RESCAN", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", formula: "SERVED", harm: cycle},
	{name: "CHECK_BEFORE_ANNOUNCE", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "SIGNAL_BEFORE_PUBLISH", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "CLEAR_BIT_AFTER_UNLOCK", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "SET_BIT_AFTER_UNLOCK", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "NO_MARK_EMPTY", flags: "PRODUCERS=1 CONSUMERS=1", formula: "RELEASED", harm: cycle},
	{name: "NO_PASS_ON", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_LAST_CHECK", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_LAST_CHECK", flags: "PRODUCERS=2 CONSUMERS=2 SHUTDOWN=0 HANDLERS_NEVER_RETURN", formula: "SERVED", harm: cycle},
	{name: "NO_LAST_CHECK_IF_FOUND", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_LAST_CHECK_IF_NOT_FOUND", flags: "SHARDS=1 PRODUCERS=1 ADDS=3 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "PASS_ON_BEFORE_CLEAR", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "WITHDRAW_DRAINS_TOKEN", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_CAS", flags: "PRODUCERS=2 CONSUMERS=1 SHUTDOWN=0", harm: twoTokens},
	{name: "NO_WAKE_AT_DONE", flags: "PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 RERUNS=1 CANCELS=1", harm: lostWakeUp},
	{name: "ONE_FLAG_SHUTDOWN", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "BEGUN_READ_BEFORE_LOCK", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "COMPLETE_READ_AFTER_TAKE", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "NO_CHECK_OF_COMPLETE", flags: "PRODUCERS=1 CONSUMERS=1", harm: parkedAfterShutDown},
	{name: "WAKE_BEFORE_COMPLETE", flags: "PRODUCERS=1 CONSUMERS=1", harm: parkedAfterShutDown},
	{name: "NO_BROADCAST", flags: "PRODUCERS=1 CONSUMERS=2", harm: parkedAfterShutDown},
	{name: "CANCEL_TAKES_TOKEN", flags: "PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 CANCELS=1", harm: lostWakeUp},
	{name: "CANCEL_CLEARS_ONLY", flags: "PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 CANCELS=1", harm: lostWakeUp},
	{name: "CANCEL_DROPS_ITEM", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0 CANCELS=1", harm: lostItem},
}

// search runs Spin on the model. A formula is both a flag and a search for
// cycles.
func search(t *testing.T, check spin.Check, flags, formula string) spin.Result {
	t.Helper()
	check.Model = model
	check.Flags = append(check.Flags, strings.Fields(flags)...)
	if formula != "" {
		check.Flags = append(check.Flags, formula)
		check.Liveness, check.Shortest = true, false
	}
	return spin.Run(t, check)
}

// TestModelIsSafe checks that in each configuration Spin searches all states
// and none is bad. If it runs all configurations, each step of the protocol
// must be executed in one of them.
func TestModelIsSafe(t *testing.T) {
	spin.Require(t)
	var mutex sync.Mutex
	executed := map[int]bool{}
	t.Run("configurations", func(t *testing.T) {
		for _, c := range spin.Some(configurations) {
			t.Run(c.name, func(t *testing.T) {
				if c.long {
					spin.Long(t)
				}
				t.Parallel()
				check := spin.Check{Flags: []string{"STRUCTURE"}, Large: c.long}
				result := search(t, check, c.flags, c.formula)
				require.Zero(t, result.Errors, "%s\n%s", result.Violation, result.Trail)
				require.True(t, result.Complete, "the search was cut short")
				mutex.Lock()
				defer mutex.Unlock()
				maps.Copy(executed, result.Steps)
			})
		}
	})
	if !t.Failed() && len(spin.Some(configurations)) == len(configurations) {
		spin.CheckReached(t, spin.Table(t, "README.md"), model, executed)
	}
}

// TestModelVariantsAreUnsafe checks that each variant does the harm that
// README.md describes.
func TestModelVariantsAreUnsafe(t *testing.T) {
	spin.Require(t)
	for _, v := range spin.Some(variants) {
		t.Run(v.name+v.formula, func(t *testing.T) {
			t.Parallel()
			check := spin.Check{Flags: []string{v.name}, Shortest: true}
			result := search(t, check, v.flags, v.formula)
			require.Equal(t, v.harm, strings.TrimSpace(result.Violation))
			require.Positive(t, result.Errors)
		})
	}
}

// TestModelVariantsDoNoHarmUnbroken checks that the configurations of the
// variants are safe without them.
func TestModelVariantsDoNoHarmUnbroken(t *testing.T) {
	spin.Require(t)
	spin.Long(t)
	unbroken := map[string]bool{}
	for _, v := range variants {
		if unbroken[v.flags+v.formula] {
			continue
		}
		unbroken[v.flags+v.formula] = true
		t.Run(v.flags+" "+v.formula, func(t *testing.T) {
			t.Parallel()
			result := search(t, spin.Check{}, v.flags, v.formula)
			require.Zero(t, result.Errors, "%s\n%s", result.Violation, result.Trail)
		})
	}
}

// TestStepsAreOfTheCode compares the README's table with the model and the
// code.
func TestStepsAreOfTheCode(t *testing.T) {
	spin.CheckTable(t, "../../..", spin.Table(t, "README.md"), model, unmapped...)
}

// unmapped are the labels of places that are no steps of the protocol, or that
// only join branches.
var unmapped = []string{
	"add", "woken", "finished", "take", "taken", "await", "await_closed",
	"searched", "pass_wake", "passed", "process", "gone", "close_wake",
	"wake_load", // in a variant
}

// TestVariantsAreDescribed checks that the variants are the flags that break
// the model, and that the README describes them.
func TestVariantsAreDescribed(t *testing.T) {
	tried := map[string]bool{}
	for _, v := range variants {
		tried[v.name] = true
	}
	switches := spin.Switches(t, model)
	for _, harmless := range []string{"ANY_SHARD", "HANDLERS_NEVER_RETURN", "STRUCTURE", "SERVED", "RELEASED"} {
		delete(switches, harmless)
	}
	assert.Equal(t, tried, switches)
	assert.Equal(t, tried, spin.Variants(t, "README.md"))
}

// TestConfigurationsAreListed checks that the README has a row for each
// configuration.
func TestConfigurationsAreListed(t *testing.T) {
	var flags []string
	for _, c := range configurations {
		flags = append(flags, strings.TrimSpace(c.flags+" "+c.formula))
	}
	spin.CheckListed(t, "README.md", flags)
}
