// Package driver has driver.pml, a model of how the timer of a queue is set.
// Spin searches all its states. README.md says what that proves.
package driver

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/test/proof/internal/spin"
)

const model = "driver.pml"

// A configuration is a set of flags with which the model is safe.
type configuration struct {
	name  string
	flags string
	// long says that only SHARDQ_SOAK=1 runs it.
	long bool
}

var configurations = []configuration{
	{name: "two adders", flags: "ADDERS=2 SHUTDOWN=0"},
	{name: "a shutdown", flags: "ADDERS=1"},
	{name: "a clock that panics", flags: "ADDERS=1 PANICS=2"},
	{name: "a group", flags: "SHARDS=1 ADDERS=0 WAITS=2 GROUPS=1"},
	{name: "a rate, one tick", flags: "SHARDS=1 ADDERS=0 WAITS=2 RATES=1 TIME=1 FIRINGS=1"},

	{name: "two adders, a shutdown", flags: "ADDERS=2", long: true},
	{name: "two adds each, one shard, a clock that panics", flags: "SHARDS=1 ADDERS=1 ADDS=2 PANICS=2", long: true},
	{name: "two adders, a clock that panics", flags: "ADDERS=2 SHUTDOWN=0 PANICS=2", long: true},
	{name: "three firings at once, three ticks", flags: "ADDERS=1 ADDS=2 TIME=3 FIRINGS=3 SHUTDOWN=0", long: true},
	{name: "a group, an adder", flags: "SHARDS=1 ADDERS=1 WAITS=1 GROUPS=1 FIRINGS=1", long: true},
	{
		name:  "a group, a clock that panics",
		flags: "SHARDS=1 ADDERS=0 WAITS=2 GROUPS=1 PANICS=2",
		long:  true,
	},
	{name: "a rate", flags: "SHARDS=1 ADDERS=0 WAITS=1 RATES=1", long: true},
	{name: "a rate, two waits", flags: "SHARDS=1 ADDERS=0 WAITS=2 RATES=1 FIRINGS=1", long: true},
}

// A variant is a flag that breaks the model in one place.
type variant struct {
	name string
	// flags are those of a small configuration in which the variant does harm.
	flags string
	harm  string
}

// These are the harms, as Spin reports them.
const (
	noTimer       = "!(noTimer)"
	waitForgotten = "!(waitForgotten)"
	deadlock      = "invalid end state"
)

var variants = []variant{
	{name: "NO_NOTIFICATION", flags: "ADDERS=1 SHUTDOWN=0", harm: noTimer},
	{name: "IDLE_BY_STORE", flags: "ADDERS=1 SHUTDOWN=0", harm: noTimer},
	{name: "ARMED_STAYS", flags: "ADDERS=2 SHUTDOWN=0", harm: noTimer},
	{name: "ARMED_READ_BEFORE_FILING", flags: "ADDERS=2 SHUTDOWN=0", harm: noTimer},
	{name: "NEVER_IS_TRUSTED", flags: "SHARDS=1 ADDERS=2 SHUTDOWN=0 PANICS=2", harm: noTimer},
	{name: "DROP_BY_STORE", flags: "ADDERS=1 PANICS=2", harm: deadlock},
	{name: "NO_POKE_AT_STOP", flags: "ADDERS=1", harm: deadlock},
	{name: "NO_LINGERING", flags: "SHARDS=1 ADDERS=0 WAITS=1 GROUPS=1", harm: waitForgotten},
	{
		name:  "STOP_KEEPS_RATE",
		flags: "SHARDS=1 ADDERS=0 WAITS=2 RATES=1 TIME=1 FIRINGS=1",
		harm:  waitForgotten,
	},
	{
		name:  "RATE_AFTER_STOP",
		flags: "SHARDS=1 ADDERS=0 WAITS=1 RATES=1 TIME=1 FIRINGS=1",
		harm:  waitForgotten,
	},
	{name: "NO_LEAVE", flags: "SHARDS=1 ADDERS=0 WAITS=1 GROUPS=1", harm: deadlock},
}

// TestModelIsSafe checks that in each configuration Spin searches all states
// and none is bad. If it runs all configurations, each step must be executed in
// one of them.
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
				result := spin.Run(t, spin.Check{Model: model, Flags: strings.Fields(c.flags), Large: c.long})
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
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			flags := append(strings.Fields(v.flags), v.name)
			result := spin.Run(t, spin.Check{Model: model, Flags: flags, Shortest: true})
			require.Equal(t, v.harm, strings.TrimSpace(result.Violation))
			require.Positive(t, result.Errors)
		})
	}
}

// unmapped are the labels of places that are no steps of the driver, or that
// only join branches.
var unmapped = []string{
	"file", "finished", "poked", "get", "left", "leave", "expire_more", "set_next",
}

// TestStepsAreOfTheCode compares the README's table with the model and the
// code.
func TestStepsAreOfTheCode(t *testing.T) {
	spin.CheckTable(t, "../../..", spin.Table(t, "README.md"), model, unmapped...)
}

// TestVariantsAreDescribed checks that the variants are the flags that break
// the model, and that the README describes them.
func TestVariantsAreDescribed(t *testing.T) {
	tried := map[string]bool{}
	for _, v := range variants {
		tried[v.name] = true
	}
	assert.Equal(t, tried, spin.Switches(t, model))
	assert.Equal(t, tried, spin.Variants(t, "README.md"))
}

// TestConfigurationsAreListed checks that the README has a row for each
// configuration.
func TestConfigurationsAreListed(t *testing.T) {
	var flags []string
	for _, c := range configurations {
		flags = append(flags, c.flags)
	}
	spin.CheckListed(t, "README.md", flags)
}
