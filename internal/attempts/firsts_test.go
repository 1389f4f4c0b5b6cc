package attempts

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The times are given back with the histories of the limiter, also if these expire
// and their items never come again.
func TestFirstsAreBounded(t *testing.T) {
	f := NewFirsts().(*firsts)
	known := map[any]bool{}
	for item := range 10_000 {
		if item%10 == 0 {
			clear(known) // they expire
		}
		known[item] = true
		f.Keep(item, time.Time{}, func(item any) bool { return known[item] })
		f.Keep(item, time.Unix(int64(item), 0), func(item any) bool { return known[item] })
		first, ok := f.Of(item)
		require.True(t, ok)
		require.Equal(t, time.Unix(int64(item), 0), first, "the last that was reported")
		require.LessOrEqual(t, f.kept.Load(), int64(200))
	}
	for item := range 10_000 {
		f.Forget(item)
	}
	require.False(t, f.Any())
	for range f.at.Range {
		t.Fatal("an entry is left")
	}
}
