//go:build race

package harness

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// racing is set in a child process that has a data race. In this process, the
// race would fail the test.
const racing = "SHARDQ_STRESS_RACES"

func TestDataRaceIsAViolation(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self, "-test.run=^TestQueueThatRaces$")
	command.Env = append(os.Environ(), racing+"=1")
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 1, exit.ExitCode(), "%s", out)
	require.Contains(t, string(out), "WARNING: DATA RACE")
	require.Contains(t, string(out), "data race violated: the race detector has reported")
	require.Regexp(t, "again: go run -race ./stress -target saboteur -seed ", string(out))
}

// TestQueueThatRaces runs in that process.
func TestQueueThatRaces(t *testing.T) {
	if os.Getenv(racing) == "" {
		t.Skip("only as a child of TestDataRaceIsAViolation")
	}
	c := Command{Package: "./stress", Targets: []Target{saboteur(races)}}
	os.Exit(c.Main([]string{"-rounds", "60", "-adds", "1000", "-ending", "drain"}, os.Stdout, os.Stderr))
}
