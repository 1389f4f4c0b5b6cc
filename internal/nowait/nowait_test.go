package nowait

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A source's error is compared with Err later, when the parent may have ended.
func TestErrStaysTheSame(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	c := &Context{Context: parent}
	require.NoError(t, c.Err())
	<-c.Done()
	cancel()
	require.Equal(t, Err, c.Err())
}
