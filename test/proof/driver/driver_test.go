// Package driver holds a model of how the timer of a queue is looked after,
// driver.pml, and has Spin search all its states. README.md says what that proves.
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

// A configuration of the model, which is safe.
type configuration struct {
	name  string
	flags string
	// long says that it is left out in short mode.
	long bool
}

var configurations = []configuration{
	{name: "two adders", flags: "ADDERS=2 SHUTDOWN=0"},
	{name: "a shutdown", flags: "ADDERS=1"},
	{name: "a clock that panics", flags: "ADDERS=1 PANICS=2"},

	{name: "two adders, a shutdown", flags: "ADDERS=2", long: true},
	{name: "two adds each, one shard, a clock that panics", flags: "SHARDS=1 ADDERS=1 ADDS=2 PANICS=2", long: true},
	{name: "two adders, a clock that panics", flags: "ADDERS=2 SHUTDOWN=0 PANICS=2", long: true},
	{name: "three firings at once, three ticks", flags: "ADDERS=1 ADDS=2 TIME=3 FIRINGS=3 SHUTDOWN=0", long: true},
}

// A variant breaks the model in one place.
type variant struct {
	name string
	// flags are of a small configuration in which it does harm.
	flags string
	harm  string
}

// The harms, as Spin reports them.
const (
	noTimer  = "!(noTimer)"
	deadlock = "invalid end state"
)

var variants = []variant{
	{name: "NO_WANTED", flags: "ADDERS=1 SHUTDOWN=0", harm: noTimer},
	{name: "REST_BY_STORE", flags: "ADDERS=1 SHUTDOWN=0", harm: noTimer},
	{name: "ARMED_STAYS", flags: "ADDERS=2 SHUTDOWN=0", harm: noTimer},
	{name: "ARMED_READ_BEFORE_FILING", flags: "ADDERS=2 SHUTDOWN=0", harm: noTimer},
	{name: "NEVER_IS_TRUSTED", flags: "SHARDS=1 ADDERS=2 SHUTDOWN=0 PANICS=2", harm: noTimer},
	{name: "DROP_BY_STORE", flags: "ADDERS=1 PANICS=2", harm: deadlock},
	{name: "NO_POKE_AT_STOP", flags: "ADDERS=1", harm: deadlock},
}

// TestDriverIsSafe: in each configuration, all states are searched and none is bad; and
// no step is safe for want of being taken.
func TestDriverIsSafe(t *testing.T) {
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
				result := spin.Run(t, spin.Check{Model: model, Flags: strings.Fields(c.flags), Large: c.long})
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

// TestVariantsAreUnsafe: each way to break the driver does the harm that README.md
// tells of.
func TestVariantsAreUnsafe(t *testing.T) {
	spin.Require(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			flags := append(strings.Fields(v.flags), v.name)
			result := spin.Run(t, spin.Check{Model: model, Flags: flags, Shortest: true})
			require.Equal(t, v.harm, strings.TrimSpace(result.Violation))
			require.Positive(t, result.Errors)
		})
	}
}

// unmapped are the labels of places that do nothing of the driver's, or that only join
// branches.
var unmapped = []string{"file", "finished", "poked"}

// TestStepsAreOfTheCode holds the README's table to the model and to the code.
func TestStepsAreOfTheCode(t *testing.T) {
	spin.CheckTable(t, "../../..", spin.Table(t, "README.md"), model, unmapped...)
}

// TestVariantsAreDescribed: the flags of the model that break it are the variants that
// are tried, and those are what the README tells of.
func TestVariantsAreDescribed(t *testing.T) {
	tried := map[string]bool{}
	for _, v := range variants {
		tried[v.name] = true
	}
	assert.Equal(t, tried, spin.Switches(t, model))
	assert.Equal(t, tried, spin.Variants(t, "README.md"))
}

// TestConfigurationsAreListed: the README has a row for each configuration.
func TestConfigurationsAreListed(t *testing.T) {
	var flags []string
	for _, c := range configurations {
		flags = append(flags, c.flags)
	}
	spin.CheckListed(t, "README.md", flags)
}
