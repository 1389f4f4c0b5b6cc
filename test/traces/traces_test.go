// Package traces replays the golden traces of this directory. They are text
// files of operations on a queue and their outcomes. README.md describes their
// language.
package traces

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite what the traces expect from what the queue does")

// TestTraces replays every scenario of every file, with several numbers of
// shards, and with the fake and the real clock.
func TestTraces(t *testing.T) {
	for _, path := range paths(t) {
		f, err := readFile(path)
		require.NoError(t, err)
		if *update {
			require.NoError(t, f.update(t))
			require.NoError(t, os.WriteFile(path, []byte(f.text()), 0o644))
		}
		t.Run(f.name, func(t *testing.T) { replayFile(t, f) })
	}
}

// paths returns the files of traces.
func paths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

func replayFile(t *testing.T, f *file) {
	for _, s := range f.scenarios {
		t.Run(s.title, func(t *testing.T) {
			for _, l := range s.layouts() {
				t.Run(l.String(), func(t *testing.T) { replayScenario(t, s, l) })
			}
		})
	}
}

func replayScenario(t *testing.T, s *scenario, l layout) {
	outcomes, err := s.replay(t, l)
	require.NoError(t, err)
	for _, m := range s.check(outcomes, l) {
		t.Error(m)
	}
}

// update replaces the expectations by what the queue does in the first layout
// of each scenario.
func (f *file) update(t *testing.T) error {
	for _, s := range f.scenarios {
		outcomes, err := s.replay(t, s.layouts()[0])
		if err != nil {
			return err
		}
		for i, line := range s.commands {
			line.expected = outcomes[i]
		}
	}
	return nil
}

// TestChangedTracesFail: a trace that expects anything else than what the queue
// does must fail, in each line.
func TestChangedTracesFail(t *testing.T) {
	f, err := readFile("interface.txt")
	require.NoError(t, err)
	for _, s := range f.scenarios {
		l := s.layouts()[0]
		outcomes, err := s.replay(t, l)
		require.NoError(t, err)
		require.Empty(t, s.check(outcomes, l))
		for _, line := range s.commands {
			for i, expected := range line.expected {
				line.expected[i] = expected + "x"
				require.Len(t, s.check(outcomes, l), 1, "%s: %s", line.text, expected)
				line.expected[i] = expected
			}
		}
	}
}
