package shardqtest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/shardqtest"
)

// After its line, the attempts of an item are those of the real handler.
func TestScriptAndThenTheHandler(t *testing.T) {
	ctx, handled := context.Background(), []string(nil)
	script := shardqtest.NewScript(func(_ context.Context, item string) error {
		handled = append(handled, item)
		return errOnPurpose
	})
	script.For("a").Fail(1).Do(func(got context.Context) error {
		require.Equal(t, ctx, got)
		return nil
	}).Return(nil)
	require.Same(t, script.For("a"), script.For("a"))
	require.EqualError(t, script.Handle(ctx, "a"), "scripted failure 1")
	require.Equal(t, errOnPurpose, script.Handle(ctx, "b"))
	require.NoError(t, script.Handle(ctx, "a"))
	requireFailure(t, "shardqtest: the script describes attempts that were not made:\n  a: 1 of 3",
		func(t stub) { script.RequirePlayed(t) })
	require.NoError(t, script.Handle(ctx, "a"))
	require.Equal(t, errOnPurpose, script.Handle(ctx, "a"))
	require.Equal(t, []string{"b", "a"}, handled)
	require.Equal(t, 4, script.Attempts("a"))
	require.Zero(t, script.Attempts("c"))
	script.RequirePlayed(t)
}
