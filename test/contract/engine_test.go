package contract

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
)

// The AddWith of what Inspect returns is that of the queue, and says why an add was
// refused.
func TestC80EngineSaysThatAWindowRefuses(t *testing.T) {
	once := shardq.AddOptions{NotAgainWithin: time.Hour}
	q := shardq.MustNew(shardq.Options[float64]{Capacity: 1, Clock: newFake()})
	e := q.Inspect().(interface {
		AddWith(item float64, options shardq.AddOptions) error
	})
	require.NoError(t, e.AddWith(1, once))
	require.ErrorIs(t, e.AddWith(1, once), shardq.ErrNotAgain)
	require.NoError(t, e.AddWith(2, once), "beyond the capacity")
	require.NoError(t, e.AddWith(1, shardq.AddOptions{Priority: 2}))
	require.ErrorIs(t, e.AddWith(math.NaN(), once), shardq.ErrRejected)
	require.ErrorIs(t, e.AddWith(math.NaN(), shardq.AddOptions{RateLimited: true}), shardq.ErrRejected)
	require.Equal(t, 2, q.Len())
}
