package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An example ends on a signal by these lines. Platforms send SIGTERM, and the
// second signal must not wait for the drain.
const (
	bothSignals  = "ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)\ndefer stop()\n"
	secondSignal = "context.AfterFunc(ctx, stop) // a second signal ends the process at once\n"
)

// TestExamplesEndOnSignals: each document that runs workers shows the lines
// before its first example of it, every example that waits for signals has all
// of them, and every drain has a time limit.
func TestExamplesEndOnSignals(t *testing.T) {
	running := regexp.MustCompile(`\.Run\(ctx\b`)
	ran := 0
	for _, d := range documents(t) {
		shown := false
		for _, block := range d.blocks("go") {
			shown = shown || strings.Contains(block, bothSignals)
			if running.MatchString(block) {
				ran++
				assert.True(t, shown, "%s runs workers, and no signal ends them:\n%s", d.path, block)
			}
			if strings.Contains(block, "signal.") {
				assert.Contains(t, block, bothSignals+secondSignal, "%s", d.path)
			}
			if strings.Contains(block, "Drain:") {
				assert.Contains(t, block, "DrainTimeout:", "%s", d.path)
			}
			if strings.Contains(block, ".Drain(ctx") {
				assert.Contains(t, block, "context.WithTimeout(", "%s", d.path)
			}
		}
	}
	require.NotZero(t, ran)
}
