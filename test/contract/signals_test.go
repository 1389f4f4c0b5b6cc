//go:build unix

package contract

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// signaledProgram is a program like those in the documents. Its handler waits
// for a line, so that a test decides when the drain can end.
func signaledProgram() {
	q := shardq.MustNew(shardq.Options[int]{})
	q.Add(1)
	workers, err := worker.New(q, worker.Options[int]{
		Workers: 1,
		Handle: func(context.Context, int) error {
			fmt.Println("working")
			_, err := bufio.NewReader(os.Stdin).ReadString('\n')
			return err
		},
		Drain:        q.DrainWith(shardq.DrainOptions{}),
		DrainTimeout: time.Hour,
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() {
		stop()
		fmt.Println("draining")
	})
	fmt.Println("drained:", workers.Run(ctx))
	os.Exit(0)
}

const signaledVariable = "SHARDQ_TEST_SIGNALED_PROGRAM"

// signaled is a running signaledProgram.
type signaled struct {
	*exec.Cmd
	stdin io.Writer
	lines *bufio.Scanner
}

// startSignaled starts the program, and sends it a signal when it has an item.
func startSignaled(t *testing.T, signal os.Signal) signaled {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self, "-test.run=^TestC49SignaledProgram$")
	command.Env = append(os.Environ(), signaledVariable+"=1")
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	s := signaled{command, stdin, bufio.NewScanner(stdout)}
	s.requireLine(t, "working")
	require.NoError(t, command.Process.Signal(signal))
	s.requireLine(t, "draining")
	return s
}

func (s signaled) requireLine(t *testing.T, want string) {
	t.Helper()
	require.True(t, s.lines.Scan(), "ended without saying %q", want)
	require.Equal(t, want, s.lines.Text())
}

func TestC49SignaledProgram(t *testing.T) {
	if os.Getenv(signaledVariable) != "" {
		signaledProgram()
	}
	for _, first := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(first.String()+" drains", func(t *testing.T) {
			s := startSignaled(t, first)
			_, err := io.WriteString(s.stdin, "go on\n")
			require.NoError(t, err)
			s.requireLine(t, "drained: <nil>")
			require.NoError(t, s.Wait(), "exit code 0")
		})
		t.Run(first.String()+" and a second signal", func(t *testing.T) {
			s := startSignaled(t, first)
			require.NoError(t, s.Process.Signal(syscall.SIGTERM))
			require.False(t, s.lines.Scan(), "%s", s.lines.Text())
			require.Error(t, s.Wait())
			require.Equal(t, syscall.SIGTERM, s.ProcessState.Sys().(syscall.WaitStatus).Signal())
		})
	}
}
