package contract

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A program that is printed compiles, whatever its options and calls are, and
// passes.
func TestPrintedProgramsCompile(t *testing.T) {
	calls := rapid.Custom(func(t *rapid.T) (calls []call) {
		for i := range 4 * len(callKinds) { // the later ones end the queue
			calls = append(calls, drawing{}.draw(t, callKinds[i/4:i/4+1]))
		}
		return calls
	})
	overlay, dir := struct{ Replace map[string]string }{map[string]string{}}, t.TempDir()
	test := []string{"test", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"),
		"helpers_test.go", "hooks_test.go", "norace_test.go", "player_items_test.go", "player_program_test.go"}
	for number, setting := range []string{"", "s1c1o1", "s2r1p3l1q2C3w2a2u1B1o1D1y1P1", "s2r1p1", "s1c2C1w1i1", "s1o1w1i2x1"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlayer(t, parseProgram(setting+":").setup)
			defer p.release()
			for _, c := range calls.Example(number) {
				p.play(c)
			}
			p.finish()
			_, text, _ := strings.Cut(p.story(), "package")
			name := code("program%d_test.go", number)
			text = strings.Replace("package"+text, "TestProgram", code("TestProgram%d", number), 1)
			overlay.Replace[name] = filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(overlay.Replace[name], []byte(text), 0o600))
			test = append(test, name)
		})
	}
	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(test[3], text, 0o600))
	output, err := exec.Command("go", append(test, "-run", "TestProgram")...).CombinedOutput()
	require.NoError(t, err, string(output))
}
