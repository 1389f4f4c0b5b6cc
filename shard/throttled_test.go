package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/shard/internal/line"
)

// TestThrottleCountShowsChanges: a caller that reads the count twice learns
// whether any group was throttled or freed between. A Get that only compares
// the numbers might have run while a group was throttled, and would leave ready
// items behind.
func TestThrottleCountShowsChanges(t *testing.T) {
	var c throttleCount
	before, count := c.read()
	require.True(t, count == 0 && c.noneSince(before))
	c.add(line.Changes{Throttled: 1, Count: 1})
	_, count = c.read()
	require.True(t, count == 1 && !c.noneSince(before))
	c.add(line.Changes{Throttled: -1, Count: 1})
	now, count := c.read()
	require.True(t, count == 0 && !c.noneSince(before) && c.noneSince(now))
	for range 1000 {
		c.add(line.Changes{Throttled: 1, Count: 1})
		c.add(line.Changes{Throttled: 1, Count: 1})
		c.add(line.Changes{Throttled: -1, Count: 1})
	}
	_, count = c.read()
	require.EqualValues(t, 1000, count)
}
