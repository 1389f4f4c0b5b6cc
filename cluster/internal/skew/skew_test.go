package skew_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster/internal/skew"
)

func TestSkew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := skew.New()
		answer := func(server string, ahead, takes time.Duration) {
			asked := c.Now()
			at := time.Now().Add(ahead + takes/2)
			time.Sleep(takes) // in the bubble
			c.Saw(server, at, asked, c.Now())
		}
		require.Zero(t, c.Greatest())
		answer("a", 0, 10*time.Millisecond)
		answer("b", 20*time.Second, 10*time.Millisecond)
		answer("c", -time.Second, 10*time.Millisecond)
		got := c.Greatest()
		require.Equal(t, "b", got.Ahead)
		require.Equal(t, "c", got.Behind)
		require.InDelta(t, 21, got.By.Seconds(), 0.02)

		// A slow answer says less, and nothing wrong.
		answer("b", 0, 5*time.Second)
		answer("c", 0, 5*time.Second)
		require.Zero(t, c.Greatest())

		answer("b", time.Minute, 0)
		require.NotZero(t, c.Greatest())
		time.Sleep(3 * time.Minute) // in the bubble
		answer("a", 0, 0)
		require.Zero(t, c.Greatest(), "b was seen long ago")
	})
}
