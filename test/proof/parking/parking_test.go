// Package parking holds a model of how consumers sleep and wake, parking.pml, and has
// Spin search all its states. README.md says what that proves.
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

// A configuration of the model, which is safe.
type configuration struct {
	name  string
	flags string
	// formula is that of the liveness that is searched, if one is.
	formula string
	// long says that it is left out in short mode.
	long bool
}

// configurations are chosen so that each has as many processes as fit: the states of
// two more do not.
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

// A variant breaks the model in one place.
type variant struct {
	name string
	// flags are of a small configuration in which it does harm.
	flags   string
	formula string
	harm    string
}

// The harms, as Spin reports them.
const (
	lostWakeUp          = "!(lostWakeUp)"
	sleepsAfterShutDown = "!(sleepsAfterShutDown)"
	leftBehind          = "!(leftBehind)"
	lostItem            = "!(lostItem)"
	twoTokens           = "!(twoTokens)"
	cycle               = "acceptance cycle"
)

var variants = []variant{
	{name: "NO_RESCAN", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_RESCAN", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", formula: "SERVED", harm: cycle},
	{name: "LOOK_BEFORE_ANNOUNCE", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "SIGNAL_BEFORE_PUBLISH", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "CLEAR_BIT_AFTER_UNLOCK", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=1 SHUTDOWN=0", harm: lostWakeUp},
	{name: "SET_BIT_AFTER_UNLOCK", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "NO_MARK_EMPTY", flags: "PRODUCERS=1 CONSUMERS=1", formula: "RELEASED", harm: cycle},
	{name: "NO_PASS_ON", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_LAST_LOOK", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_LAST_LOOK", flags: "PRODUCERS=2 CONSUMERS=2 SHUTDOWN=0 HANDLERS_NEVER_RETURN", formula: "SERVED", harm: cycle},
	{name: "NO_LAST_LOOK_IF_FOUND", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_LAST_LOOK_IF_NOT_FOUND", flags: "SHARDS=1 PRODUCERS=1 ADDS=3 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "PASS_ON_BEFORE_CLEAR", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "WITHDRAW_DRAINS_TOKEN", flags: "PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", harm: lostWakeUp},
	{name: "NO_CAS", flags: "PRODUCERS=2 CONSUMERS=1 SHUTDOWN=0", harm: twoTokens},
	{name: "NO_WAKE_AT_DONE", flags: "PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 RERUNS=1 CANCELS=1", harm: lostWakeUp},
	{name: "ONE_FLAG_SHUTDOWN", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "BEGUN_READ_BEFORE_LOCK", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "COMPLETE_READ_AFTER_TAKE", flags: "PRODUCERS=1 CONSUMERS=1", harm: leftBehind},
	{name: "NO_LOOK_AT_COMPLETE", flags: "PRODUCERS=1 CONSUMERS=1", harm: sleepsAfterShutDown},
	{name: "WAKE_BEFORE_COMPLETE", flags: "PRODUCERS=1 CONSUMERS=1", harm: sleepsAfterShutDown},
	{name: "NO_BROADCAST", flags: "PRODUCERS=1 CONSUMERS=2", harm: sleepsAfterShutDown},
	{name: "CANCEL_TAKES_TOKEN", flags: "PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 CANCELS=1", harm: lostWakeUp},
	{name: "CANCEL_CLEARS_ONLY", flags: "PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 CANCELS=1", harm: lostWakeUp},
	{name: "CANCEL_DROPS_ITEM", flags: "PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0 CANCELS=1", harm: lostItem},
}

// search runs Spin on the model. A formula is both a flag and a search for cycles.
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

// TestProtocolIsSafe: in each configuration, all states are searched and none is bad;
// and no step of the protocol is safe for want of being taken.
func TestProtocolIsSafe(t *testing.T) {
	spin.Require(t)
	var mutex sync.Mutex
	executed := map[int]bool{}
	t.Run("configurations", func(t *testing.T) {
		for _, c := range configurations {
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
	if !t.Failed() {
		spin.CheckReached(t, spin.Table(t, "README.md"), model, executed)
	}
}

// TestVariantsAreUnsafe: each way to break the protocol does the harm that README.md
// tells of.
func TestVariantsAreUnsafe(t *testing.T) {
	spin.Require(t)
	for _, v := range variants {
		t.Run(v.name+v.formula, func(t *testing.T) {
			t.Parallel()
			check := spin.Check{Flags: []string{v.name}, Shortest: true}
			result := search(t, check, v.flags, v.formula)
			require.Equal(t, v.harm, strings.TrimSpace(result.Violation))
			require.Positive(t, result.Errors)
		})
	}
}

// TestVariantsDoNoHarmUnbroken: in the variants' configurations the harm comes of the
// variant.
func TestVariantsDoNoHarmUnbroken(t *testing.T) {
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

// TestStepsAreOfTheCode holds the README's table to the model and to the code.
func TestStepsAreOfTheCode(t *testing.T) {
	spin.CheckTable(t, "../../..", spin.Table(t, "README.md"), model, unmapped...)
}

// unmapped are the labels of places that do nothing of the protocol's, or that only
// join branches.
var unmapped = []string{
	"add", "woken", "finished", "take", "taken", "await", "await_closed",
	"searched", "pass_wake", "passed", "process", "gone", "close_wake",
	"wake_load", // of a variant
}

// TestVariantsAreDescribed: the flags of the model that break it are the variants that
// are tried, and those are what the README tells of.
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

// TestConfigurationsAreListed: the README has a row for each configuration.
func TestConfigurationsAreListed(t *testing.T) {
	var flags []string
	for _, c := range configurations {
		flags = append(flags, strings.TrimSpace(c.flags+" "+c.formula))
	}
	spin.CheckListed(t, "README.md", flags)
}
