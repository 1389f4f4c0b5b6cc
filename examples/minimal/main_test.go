package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A sink collects text, and fails for the first writes.
type sink struct {
	mu    sync.Mutex
	fails int
	text  strings.Builder
	wrote func()
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails--; s.fails >= 0 {
		return 0, errors.New("no such luck")
	}
	if s.wrote != nil {
		s.wrote()
	}
	return s.text.Write(p)
}

func TestCountsAllLines(t *testing.T) {
	s := &sink{fails: 2}
	require.NoError(t, run(t.Context(), strings.NewReader("a\na\na\n"), s, io.Discard))
	require.Equal(t, "3\ta\n", s.text.String())
}

func TestFailures(t *testing.T) {
	for text, fails := range map[string]int{"a\n": 5, strings.Repeat("x", 1<<20): 0} {
		require.ErrorContains(t, run(t.Context(), strings.NewReader(text), &sink{fails: fails}, io.Discard), "not all lines")
	}
}

// TestEndOfTheContext: a signal ends the program although the input is open.
func TestEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	input, writer := io.Pipe()
	s := &sink{wrote: cancel}
	go func() { _, _ = io.WriteString(writer, "a\n") }()
	require.NoError(t, run(ctx, input, s, io.Discard))
	require.Equal(t, "1\ta\n", s.text.String())
	require.NoError(t, writer.Close())
}
