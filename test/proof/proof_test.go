// Package proof has models of two protocols for the model checker Spin, which
// tries every interleaving within bounds: parking.pml of how consumers park and
// wake, and driver.pml of how the timer of a queue is set. The comment at the
// head of each says what it proves.
//
// The tests need spin and a C compiler (apt-get install spin gcc), and are
// skipped without them. With SHARDQ_REQUIRE_SPIN=1 they fail instead.
package proof

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// safe are the configurations in which no state of a model is bad.
var safe = map[string][]string{
	"parking.pml": {
		"SHARDS=1 PRODUCERS=1 ADDS=1 CONSUMERS=2 CANCELS=1 RERUNS=1",
		"PRODUCERS=1 ADDS=1 CONSUMERS=2 RERUNS=1",
		"SHARDS_PER_WORD=1 PRODUCERS=1 ADDS=1 CONSUMERS=2",
		"PRODUCERS=1 ADDS=1 CONSUMERS=2 CANCELS=2 SHUTDOWN=0 RERUNS=1",
		"PRODUCERS=2 ADDS=1 CONSUMERS=2 SHUTDOWN=0",
		"SHARDS=1 PRODUCERS=2 ADDS=1 CONSUMERS=2 SHUTDOWN=0 HANDLERS_NEVER_RETURN SERVED",
		"SHARDS=1 PRODUCERS=1 ADDS=1 CONSUMERS=2 RELEASED",
	},
	"driver.pml": {
		"ADDERS=2 SHUTDOWN=0",
		"ADDERS=1",
		"ADDERS=1 PANICS=2",
		"SHARDS=1 ADDERS=0 WAITS=2 GROUPS=1",
		"SHARDS=1 ADDERS=0 WAITS=2 RATES=1 TIME=1 FIRINGS=1",
	},
}

// These are the harms of the variants, as Spin reports them.
const (
	lostWakeUp          = "!(lostWakeUp)"
	parkedAfterShutDown = "!(parkedAfterShutDown)"
	leftBehind          = "!(leftBehind)"
	lostItem            = "!(lostItem)"
	twoTokens           = "!(twoTokens)"
	cycle               = "acceptance cycle"
	noTimer             = "!(noTimer)"
	waitForgotten       = "!(waitForgotten)"
	deadlock            = "invalid end state"
)

// variants break a model in one place, by the first flag. Spin must find the
// harm in the configuration of the other flags.
var variants = map[string][]struct{ flags, harm string }{
	"parking.pml": {
		{"NO_RESCAN PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", lostWakeUp},
		{"NO_RESCAN PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0 SERVED", cycle},
		{"CHECK_BEFORE_ANNOUNCE PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", lostWakeUp},
		{"SIGNAL_BEFORE_PUBLISH PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0", lostWakeUp},
		{"CLEAR_BIT_AFTER_UNLOCK PRODUCERS=1 ADDS=2 CONSUMERS=1 SHUTDOWN=0", lostWakeUp},
		{"SET_BIT_AFTER_UNLOCK PRODUCERS=1 CONSUMERS=1", leftBehind},
		{"NO_MARK_EMPTY PRODUCERS=1 CONSUMERS=1 RELEASED", cycle},
		{"NO_PASS_ON PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", lostWakeUp},
		{"NO_LAST_CHECK PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", lostWakeUp},
		{"NO_LAST_CHECK PRODUCERS=2 CONSUMERS=2 SHUTDOWN=0 HANDLERS_NEVER_RETURN SERVED", cycle},
		{"NO_LAST_CHECK_IF_FOUND PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", lostWakeUp},
		{"NO_LAST_CHECK_IF_NOT_FOUND SHARDS=1 PRODUCERS=1 ADDS=3 CONSUMERS=2 SHUTDOWN=0", lostWakeUp},
		{"PASS_ON_BEFORE_CLEAR PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", lostWakeUp},
		{"WITHDRAW_DRAINS_TOKEN PRODUCERS=1 ADDS=2 CONSUMERS=2 SHUTDOWN=0", lostWakeUp},
		{"NO_CAS PRODUCERS=2 CONSUMERS=1 SHUTDOWN=0", twoTokens},
		{"NO_WAKE_AT_DONE PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 RERUNS=1 CANCELS=1", lostWakeUp},
		{"ONE_FLAG_SHUTDOWN PRODUCERS=1 CONSUMERS=1", leftBehind},
		{"BEGUN_READ_BEFORE_LOCK PRODUCERS=1 CONSUMERS=1", leftBehind},
		{"COMPLETE_READ_AFTER_TAKE PRODUCERS=1 CONSUMERS=1", leftBehind},
		{"NO_CHECK_OF_COMPLETE PRODUCERS=1 CONSUMERS=1", parkedAfterShutDown},
		{"WAKE_BEFORE_COMPLETE PRODUCERS=1 CONSUMERS=1", parkedAfterShutDown},
		{"NO_BROADCAST PRODUCERS=1 CONSUMERS=2", parkedAfterShutDown},
		{"CANCEL_TAKES_TOKEN PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 CANCELS=1", lostWakeUp},
		{"CANCEL_CLEARS_ONLY PRODUCERS=1 CONSUMERS=2 SHUTDOWN=0 CANCELS=1", lostWakeUp},
		{"CANCEL_DROPS_ITEM PRODUCERS=1 CONSUMERS=1 SHUTDOWN=0 CANCELS=1", lostItem},
	},
	"driver.pml": {
		{"NO_NOTIFICATION ADDERS=1 SHUTDOWN=0", noTimer},
		{"IDLE_BY_STORE ADDERS=1 SHUTDOWN=0", noTimer},
		{"ARMED_STAYS ADDERS=2 SHUTDOWN=0", noTimer},
		{"ARMED_READ_BEFORE_FILING ADDERS=2 SHUTDOWN=0", noTimer},
		{"NEVER_IS_TRUSTED SHARDS=1 ADDERS=2 SHUTDOWN=0 PANICS=2", noTimer},
		{"DROP_BY_STORE ADDERS=1 PANICS=2", deadlock},
		{"NO_POKE_AT_STOP ADDERS=1", deadlock},
		{"NO_LINGERING SHARDS=1 ADDERS=0 WAITS=1 GROUPS=1", waitForgotten},
		{"STOP_KEEPS_RATE SHARDS=1 ADDERS=0 WAITS=2 RATES=1 TIME=1 FIRINGS=1", waitForgotten},
		{"RATE_AFTER_STOP SHARDS=1 ADDERS=0 WAITS=1 RATES=1 TIME=1 FIRINGS=1", waitForgotten},
		{"NO_LEAVE SHARDS=1 ADDERS=0 WAITS=1 GROUPS=1", deadlock},
	},
}

func TestModelsAreSafe(t *testing.T) {
	for model, configurations := range safe {
		for _, flags := range configurations {
			t.Run(model+" "+flags, func(t *testing.T) {
				t.Parallel()
				require.Empty(t, search(t, model, flags, false))
			})
		}
	}
}

func TestVariantsAreUnsafe(t *testing.T) {
	if os.Getenv("SHARDQ_SOAK") == "" {
		t.Skip("each variant is compiled and searched, half a minute: make models")
	}
	for model, broken := range variants {
		for _, v := range broken {
			t.Run(model+" "+v.flags, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, v.harm, search(t, model, v.flags, true))
			})
		}
	}
}

var (
	found     = regexp.MustCompile(`errors: (\d+)`)
	violation = regexp.MustCompile(`(?m)^pan:1: (?:assertion violated )?(.*?)(?: \(at depth \d+\))?$`)
	truncated = regexp.MustCompile(`max search depth too small|Search not completed|memory limit|out of memory|MEMLIM`)
)

// search searches the states of a model, and returns the first violation. With
// SERVED or RELEASED, which are formulas, it searches for cycles. Otherwise,
// the search for a violation is breadth-first, so that it is short.
func search(t *testing.T, model, flags string, shortest bool) (violated string) {
	for _, program := range []string{"spin", "cc"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("SHARDQ_REQUIRE_SPIN") == "1" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	text, err := os.ReadFile(model)
	require.NoError(t, err)
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "model.pml"), text, 0o600))
	must := func(program string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = directory
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s %v\n%s", program, arguments, output)
		return string(output)
	}
	generate := []string{"-a"}
	for _, flag := range strings.Fields(flags) {
		generate = append(generate, "-D"+flag)
	}
	must("spin", append(generate, "model.pml")...)
	kind, arguments := []string{"-DSAFETY"}, []string{"-m100000"}
	switch {
	case strings.Contains(flags, "SERVED") || strings.Contains(flags, "RELEASED"):
		// Spin's reduction works only without fairness.
		kind, arguments = []string{"-DNOREDUCE", "-DNFAIR=4"}, append(arguments, "-a", "-f", "-A")
	case shortest:
		kind = append(kind, "-DBFS")
	}
	must("cc", append(kind, "-w", "-O0", "-DMEMLIM=4000", "-o", "pan", "pan.c")...)
	output := must("./pan", arguments...)
	require.Regexp(t, found, output)
	if match := violation.FindStringSubmatch(output); match != nil {
		return strings.TrimSpace(match[1])
	}
	require.NotRegexp(t, truncated, output)
	require.Equal(t, "0", found.FindStringSubmatch(output)[1], output)
	return ""
}
