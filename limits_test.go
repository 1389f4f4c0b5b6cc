package shardq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// TestLimitsAreTheEngines: the limits that the documentation shows as numbers
// are those of the engine.
func TestLimitsAreTheEngines(t *testing.T) {
	require.Equal(t, shard.MaxShards, shardq.MaxShards)
	require.Equal(t, 1_048_576, shard.MaxGroupWeight, "as GroupPolicy says")
	require.Equal(t, 536_870_911, shard.MaxItems, "as Queue.Add and Coalescer.Put say")
}
