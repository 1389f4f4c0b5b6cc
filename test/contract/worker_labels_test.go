package contract

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// labelOf returns the profiling label of a context.
func labelOf(ctx context.Context) string {
	value, _ := pprof.Label(ctx, "queue")
	return value
}

// goroutinesWithLabels returns the profile of all goroutines, with their
// labels.
func goroutinesWithLabels(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&text, 1))
	return text.String()
}
