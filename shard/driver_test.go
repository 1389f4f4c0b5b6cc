package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

// TestCanceledTimerStops: when nothing is delayed any more, no timer is left after the
// driver's next reading.
func TestCanceledTimerStops(t *testing.T) {
	c := clock.NewFake(start)
	s := newTestSet(t, Config[int]{Settings: Settings{Clock: c, Rules: Rules{CancelDelayOnAdd: true}}})
	s.AddAfter(1, time.Second)
	s.Add(1)
	s.Core.shard(0).rewind(s.Core.time.Now()) // by an AddAfter that was overtaken
	s.Core.driver.poke()
	require.Zero(t, c.Timers())
}
