package shard

import (
	"testing"

	"github.com/shardq/shardq/shard/internal/line"
)

// TestThrottleCountShowsChanges: a caller that reads the count twice learns
// whether any group was throttled or freed between. A Get that only compares
// the numbers might have run while a group was throttled, and would leave ready
// items behind.
func TestThrottleCountShowsChanges(t *testing.T) {
	var c throttleCount
	before, count := c.read()
	if count != 0 || !c.noneSince(before) {
		t.Fatal("nothing has happened, and a change is reported")
	}
	c.add(line.Changes{Throttled: 1, Count: 1})
	if _, count := c.read(); count != 1 || c.noneSince(before) {
		t.Fatalf("one group is throttled, but the count is %d", count)
	}
	c.add(line.Changes{Throttled: -1, Count: 1})
	if now, count := c.read(); count != 0 || c.noneSince(before) || !c.noneSince(now) {
		t.Fatal("a group was throttled and freed, and no change is reported")
	}
	for range 1000 {
		c.add(line.Changes{Throttled: 1, Count: 1})
		c.add(line.Changes{Throttled: 1, Count: 1})
		c.add(line.Changes{Throttled: -1, Count: 1})
	}
	if _, count := c.read(); count != 1000 {
		t.Fatalf("1000 groups are throttled, but the count is %d", count)
	}
}
