package spin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counter has two processes that add 1 to a number, in one step or in two.
const counter = `
byte number, finished;
active [2] proctype Adder() {
	byte read;
add_read:
#ifdef IN_TWO_STEPS
	read = number;
add_write:
	number = read + 1;
#else
	number++;
#endif
	atomic { finished++; assert(finished < 2 || number == 2) }
#ifdef DEAD
dead:
	finished == 3
#endif
}
#ifdef FORMULA
ltl { <> (finished == 3) }
#endif
`

func write(t *testing.T, text string) (path string) {
	path = filepath.Join(t.TempDir(), "counter.pml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestRun searches a safe model, and one with each kind of mistake.
func TestRun(t *testing.T) {
	model := write(t, counter)
	for _, c := range Some([]struct {
		check     Check
		violation string
	}{
		{Check{}, ""},
		{Check{Shortest: true, Large: true}, ""},
		{Check{Flags: []string{"IN_TWO_STEPS"}}, "((finished<2)||(number==2))"},
		{Check{Flags: []string{"IN_TWO_STEPS"}, Shortest: true}, "((finished<2)||(number==2))"},
		{Check{Flags: []string{"DEAD"}}, "invalid end state"},
		{Check{Flags: []string{"FORMULA"}, Liveness: true}, "acceptance cycle"},
	}) {
		c.check.Model = model
		result := Run(t, c.check)
		assert.Equal(t, c.violation, result.Violation)
		assert.Equal(t, c.violation == "", result.Errors == 0)
		assert.Equal(t, c.violation == "", result.Complete)
		assert.Equal(t, c.violation != "", result.Trail != "")
		assert.Positive(t, result.States)
	}
}

// TestReached checks that a label whose code no process executes is found.
func TestReached(t *testing.T) {
	model := write(t, counter)
	lines := Run(t, Check{Model: model}).Steps
	spans := Labels(t, model)
	assert.Contains(t, lines, spans["add_read"][0].from+6)
	for line := spans["dead"][0].from; line < spans["dead"][0].to; line++ {
		assert.NotContains(t, lines, line)
	}
}

// TestParse checks that a search that ended early is not complete.
func TestParse(t *testing.T) {
	const end = "State-vector 28 byte, depth reached 9, errors: 0\n 1.5e+07 states, stored\n"
	assert.Equal(t, Result{Complete: true, States: 15_000_000}, parse(t, end))
	assert.False(t, parse(t, "error: max search depth too small\n"+end).Complete)
	assert.False(t, parse(t, "Warning: Search not completed\n"+end).Complete)
	assert.False(t, parse(t, "pan: reached -DMEMLIM bound\n"+end).Complete)
}
