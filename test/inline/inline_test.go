package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSmallFunctionsAreInlinedInPrograms checks the symbols of two programs: a
// function that is inlined everywhere is not among them.
func TestSmallFunctionsAreInlinedInPrograms(t *testing.T) {
	for _, of := range []string{".", "../../coalesce/testdata/inline"} {
		program := filepath.Join(t.TempDir(), "program")
		run := func(args ...string) string {
			out, err := exec.Command("go", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		run("build", "-o", program, of)
		symbols := run("tool", "nm", program)
		has := func(function string) bool { return strings.Contains(symbols, "shardq/"+function+"\n") }
		require.True(t, has("shard/internal/items.(*segment).remove"), "too large to be inlined")
		for _, small := range []string{
			"shard/internal/items.(*index).segmentOf", "shard.(*Retries).Taken",
			"internal/chunked.CellsOf", "internal/itemlimit.(*Limiter).Notify",
		} {
			require.False(t, has(small), "%s in %s", small, of)
		}
	}
}
