package traffic

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestQueueKeepsItsPromises plays some rounds.
func TestQueueKeepsItsPromises(t *testing.T) {
	for seed := range uint64(150) {
		p := Draw(seed, All)
		_, err := Play(p, 10*time.Second)
		require.NoError(t, err, "seed %d: %v", seed, p)
	}
}
