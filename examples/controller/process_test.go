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

// TestMain lets the test binary be the program, for tests that need a process of their own.
func TestMain(m *testing.M) {
	if os.Getenv("CONTROLLER_RUN_MAIN") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// program starts the program in a process of its own, and returns the lines of its stderr.
func program(t *testing.T, stdout io.Writer, arguments ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self, arguments...)
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
			await(t, lines, "no more changes")
			for lines.Scan() {
			}
			require.NoError(t, command.Wait(), "exit code 0")
			require.Contains(t, outcome{stdout: stdout.String()}.row(t, "proof"), "every object")
		})
	}
}

// What a run that was cut off leaves is taken up by the next one.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	path := newDatabase(t)
	var stdout bytes.Buffer
	command, lines := program(t, &stdout, "-objects", "10", "-workers", "1", "-duration", "1h", "-fail", "1", "-db", path)
	await(t, lines, "tenants change theirs")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	await(t, lines, "no more changes")
	require.NoError(t, command.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
	}
	var failure *exec.ExitError
	require.ErrorAs(t, command.Wait(), &failure)
	require.False(t, failure.Exited(), "the signal ended it")
	require.Empty(t, stdout.String())

	second := runWhole(t, nil, "-objects", "1", "-duration", "0", "-db", path)
	require.Equal(t, exitProven, second.code, second.stderr)
	require.Contains(t, second.row(t, "objects"), "140,")
}
