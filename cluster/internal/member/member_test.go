package member_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster/internal/member"
)

func TestAMemberThatLeavesMovesOnlyItsPartitions(t *testing.T) {
	var members []string
	for i := range 10 {
		members = append(members, fmt.Sprintf("node %d", i))
	}
	counts := map[string]int{}
	const partitions = 10_000
	for p := range partitions {
		owner := member.Owner(members, p)
		counts[owner]++
		after := member.Owner(members[1:], p)
		if owner != members[0] {
			require.Equal(t, owner, after)
		}
	}
	for id, n := range counts {
		require.InDelta(t, partitions/len(members), n, partitions/50, id)
	}
	require.Len(t, counts, len(members))
	require.Empty(t, member.Owner(nil, 1))
	reversed := []string{"b", "a"}
	require.Equal(t, member.Owner([]string{"a", "b"}, 3), member.Owner(reversed, 3))
}

func TestMembersAreForgotten(t *testing.T) {
	now := time.Now()
	table := member.NewTable(time.Second)
	require.True(t, table.Heard("b", now))
	require.True(t, table.Heard("a", now))
	require.False(t, table.Heard("a", now.Add(time.Second)))
	require.Equal(t, []string{"a", "b"}, table.Members(now.Add(time.Second)))
	require.Equal(t, []string{"a"}, table.Members(now.Add(2*time.Second)))
	require.True(t, table.Left("a"))
	require.False(t, table.Left("a"))
	require.Empty(t, table.Members(now))
}
