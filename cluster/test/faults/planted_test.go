//go:build unix

package faults

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A plant is a fault that is put into the code, and a test that must find it.
type plant struct {
	name, file string
	// old is replaced by new.
	old, new string
	// test is in pkg, or else here.
	pkg, test string
	// finding is a regular expression for what the test says.
	finding string
}

var plants = []plant{
	{
		name: "an acknowledgement before the run is done", file: "partition.go",
		old:  "	p.inFlight++\n",
		new:  "	p.inFlight++\n	for _, m := range messages {\n		_ = m.Message.Ack()\n	}\n",
		test: "TestAWorkerIsKilledAtEachStep/begins", finding: "never satisfied",
	},
	{
		name: "an acknowledgement of what is newer than the run", file: "partition.go",
		old:  "		p.held.Done(r.key)\n",
		new:  "		for _, m := range p.held.Messages() {\n			_ = m.Message.Ack()\n		}\n		p.held.Done(r.key)\n",
		test: "TestAKeyIsAddedInFlight", finding: "never satisfied|the history is not one of the promised queue",
	},
	{
		name: "a lease that is renewed without comparing", file: "internal/lease/lease.go",
		old:  "jetstream.WithExpectLastSequencePerSubject(replaced))",
		new:  "func() jetstream.PublishOpt {\n		if r.Epoch != 0 {\n			return jetstream.WithRetryAttempts(1)\n		}\n		return jetstream.WithExpectLastSequencePerSubject(replaced)\n	}())",
		pkg:  "github.com/shardq/shardq/cluster/internal/lease",
		test: "TestALeaseThatExpires", finding: "lease: lost",
	},
	{
		name: "a node that does not check its epoch", file: "internal/lease/lease.go",
		old:  "	if last != l.record() {\n",
		new:  "	if last.Node != l.store.Node {\n",
		pkg:  "github.com/shardq/shardq/cluster/internal/lease",
		test: "TestALeaseThatExpires", finding: "lease: lost",
	},
}

// TestPlantedFaultsAreFound checks the checks: each planted fault fails its
// test.
func TestPlantedFaultsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles each fault")
	}
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			dir := t.TempDir()
			file, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(p.file)))
			require.NoError(t, err)
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), p.old), "want the text once: %s", p.old)
			planted := filepath.Join(dir, "planted.go")
			require.NoError(t, os.WriteFile(planted, []byte(strings.Replace(string(source), p.old, p.new, 1)), 0o600))
			overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: planted}})
			require.NoError(t, err)
			list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "faults.test")
			require.NoError(t, os.WriteFile(list, overlay, 0o600))
			output, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", binary, cmp.Or(p.pkg, ".")).CombinedOutput()
			require.NoError(t, err, "%s", output)
			arguments := []string{"-test.run", "^" + strings.ReplaceAll(p.test, "/", "$/^") + "$"}
			if p.pkg == "" {
				arguments = append(arguments, "-patience", "15s")
			}
			output, err = exec.Command(binary, arguments...).CombinedOutput()
			require.Error(t, err, "the fault was not found:\n%s", output)
			require.Regexp(t, p.finding, string(output))
		})
	}
}

// TestASinkWithoutFences plants a fault into the sink: it does not check the
// epoch, and accepts the writes of all. The history reveals it.
func TestASinkWithoutFences(t *testing.T) {
	c := newCell(t, 1)
	c.sink.Unfenced = true
	c.spawnMany(2)
	victim, h, wait := c.addAndHold(Writes)
	c.send(victim.Process, syscall.SIGSTOP)
	wait()
	c.waitForAnother(victim)
	h.Release() // the server's side of the write, which the process has sent
	require.Eventually(t, func() bool {
		return c.history.Find(func(r *Run) bool { return r.Key == victim.Key && r.Epoch == victim.Epoch && r.wrote != 0 }) != nil
	}, *patience, tick)
	c.send(victim.Process, syscall.SIGCONT)
	require.ErrorContains(t, c.verdict(), "was accepted after one of epoch")
}
