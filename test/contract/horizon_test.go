package contract

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// C22: delays work as before on a clock that has advanced 200 years. The
// longest delay has not expired then.
func TestC22DelaysAfterCenturies(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	q := shardq.MustNew(shardq.Options[int]{Clock: fake})
	q.AddAfter(1, math.MaxInt64)
	const centuries = 200 * 365 * 24 * time.Hour
	fake.Step(centuries)
	require.Zero(t, q.Len())
	q.AddAfter(2, time.Second)
	fake.Step(time.Second)
	require.Equal(t, 1, q.Len())
	fake.Step(math.MaxInt64 - centuries - time.Second - time.Nanosecond)
	require.Equal(t, 1, q.Len())
}
