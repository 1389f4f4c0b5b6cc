package wake

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTokenOutlivesACancel: a consumer that is canceled leaves the token for the
// next, and while the token is out no other is sent.
func TestTokenOutlivesACancel(t *testing.T) {
	var p Parker
	p.Init()
	p.Wake()
	require.False(t, p.WokenPending(), "nobody was parked")
	canceled := make(chan struct{})
	close(canceled)
	p.Announce()
	require.False(t, p.Block(canceled))
	p.Wake()
	p.Wake()
	p.Withdraw()
	require.Zero(t, p.Parked())
	p.Announce()
	require.True(t, p.WokenPending())
	require.True(t, p.Block(nil), "the token is there")
	p.Withdraw()
	p.Announce()
	p.Wake()
	require.False(t, p.Block(canceled), "one is searching")
	p.StopSearching()
	p.Wake()
	require.True(t, p.Block(make(chan struct{})))
}
