package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func try(ctx context.Context, flags string) (int, string) {
	var out strings.Builder
	code := run(ctx, strings.Fields(flags), &out, io.Discard)
	return code, out.String()
}

func TestEveryObjectConverges(t *testing.T) {
	defer func(before time.Duration) { stuckAfter = before }(stuckAfter)
	stuckAfter = 100 * time.Millisecond
	code, out := try(t.Context(), "-duration 100ms -objects 20 -flood 500 -fail 0.3 -stuck 300ms -listen 127.0.0.1:0")
	require.Zero(t, code, out)
	require.Contains(t, out, "\n0 objects are not in their desired state; 0 times")
	require.NotContains(t, out, " 0 hung")
}

func TestAnAPIThatIsDown(t *testing.T) {
	code, out := try(t.Context(), "-duration 1ms -objects 2 -flood 0 -fail 1 -patience 50ms")
	require.Equal(t, 1, code)
	require.Contains(t, out, "28 objects are not in their desired state")
	require.Contains(t, out, "not in its desired state: flood/object-0\n")
	require.Contains(t, out, "\nand 8 more\n")
}

func TestInterruptAndFaults(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	code, out := try(ended, "-duration 1h -objects 2")
	require.Zero(t, code, out)
	for _, flags := range []string{"-workers 0", "-objects 0", "-patience 0", "x", "-stuck x", "-stuck -1s", "-flood -1", "-fail 2", "-duration -1s", "-listen 127.0.0.1:-1"} {
		code, _ := try(t.Context(), flags)
		require.Equal(t, 2, code, flags)
	}
}
