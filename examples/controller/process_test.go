package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain lets the test binary act as the program, for tests that need a child
// process.
func TestMain(m *testing.M) {
	if os.Getenv("CONTROLLER_RUN_MAIN") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// program starts the program in a child process, and returns the lines of its
// stderr. It starts with interrupts ignored, as a background job of a script
// does.
func program(t *testing.T, stdout io.Writer, arguments ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	arguments = append([]string{"-c", `trap "" INT; exec "$0" "$@"`, self}, arguments...)
	command := exec.CommandContext(t.Context(), "sh", arguments...)
	command.Env = append(os.Environ(), "CONTROLLER_RUN_MAIN=1")
	command.Stdout = stdout
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	return command, bufio.NewScanner(stderr)
}

// await reads lines until one contains the text.
func await(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	require.Fail(t, "ended without saying", text)
}

func TestSignalEndsTheChangesAndDrains(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			var stdout bytes.Buffer
			command, lines := program(t, &stdout, "-objects", "10", "-duration", "1h", "-fail", "0")
			await(t, lines, "tenants change theirs")
			require.NoError(t, command.Process.Signal(signal))
			await(t, lines, "another signal stops at once")
			for lines.Scan() {
			}
			require.NoError(t, command.Wait(), "exit code 0")
			require.Contains(t, outcome{stdout: stdout.String()}.row(t, "proof"), "every object")
		})
	}
}

// stopAtOnce runs the program, interrupts it twice, and checks how it ends.
func stopAtOnce(t *testing.T, arguments ...string) {
	t.Helper()
	var stdout bytes.Buffer
	command, lines := program(t, &stdout, append(arguments, "-objects", "10", "-duration", "1h", "-patience", "1h", "-fail", "1")...)
	await(t, lines, "tenants change theirs")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	await(t, lines, "objects, for at most 1h0m0s; another signal stops at once")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	await(t, lines, "again: stopped at once")
	for lines.Scan() {
	}
	var failure *exec.ExitError
	require.ErrorAs(t, command.Wait(), &failure)
	require.Equal(t, exitAborted, failure.ExitCode())
	require.Empty(t, stdout.String())
}

func TestSecondSignalLeavesNoTemporaryFiles(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	stopAtOnce(t)
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

// The next run continues a run that was cut off.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	path := newDatabase(t)
	stopAtOnce(t, "-workers", "1", "-db", path)
	second := runWhole(t, nil, "-objects", "1", "-duration", "0", "-db", path)
	require.Equal(t, exitProven, second.code, second.stderr)
	require.Contains(t, second.row(t, "objects"), "140,")
}
