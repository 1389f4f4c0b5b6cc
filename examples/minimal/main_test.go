package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/worker"
)

// attempts is a handler that counts, and fails for the first attempts of each name.
func attempts(fails int) (counts map[string]int, handle worker.Handler[string]) {
	var mu sync.Mutex
	counts = map[string]int{}
	return counts, func(_ context.Context, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if counts[name]++; counts[name] <= fails {
			return errors.New("no such luck")
		}
		return nil
	}
}

// TestRetries: the end of the input waits for the backoffs, of which there are four.
func TestRetries(t *testing.T) {
	for fails, want := range map[int]int{2: 3, 100: 5} {
		synctest.Test(t, func(t *testing.T) {
			counts, handle := attempts(fails)
			require.NoError(t, run(t.Context(), strings.NewReader("a\nb\n"), handle))
			require.Equal(t, map[string]int{"a": want, "b": want}, counts)
		})
	}
}

// TestEndOfTheContext: a signal ends the program although the input is open.
func TestEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	input, writer := io.Pipe()
	go func() { _, _ = io.WriteString(writer, "a\n") }()
	require.NoError(t, run(ctx, input, func(context.Context, string) error {
		cancel()
		return nil
	}))
	require.NoError(t, writer.Close())
}
