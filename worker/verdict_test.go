package worker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/worker"
)

// What a pool does with an error is what these functions say of it.
func TestErrorsAreReadAsAPoolReadsThem(t *testing.T) {
	cause := errors.New("on purpose")
	requeue, permanent := worker.RequeueAfter(time.Minute), worker.Permanent(cause)
	for _, c := range []struct {
		err         error
		after       time.Duration
		isRequeue   bool
		isPermanent bool
	}{
		{nil, 0, false, false},
		{cause, 0, false, false},
		{requeue, time.Minute, true, false},
		{fmt.Errorf("later: %w", requeue), time.Minute, true, false},
		{errors.Join(cause, requeue), time.Minute, true, false},
		{worker.RequeueAfter(-1), -1, true, false},
		{permanent, 0, false, true},
		{fmt.Errorf("never: %w", permanent), 0, false, true},
		{errors.Join(requeue, permanent), 0, false, true},
	} {
		after, isRequeue := worker.RequeueDelay(c.err)
		require.Equal(t, c.after, after, "%v", c.err)
		require.Equal(t, c.isRequeue, isRequeue, "%v", c.err)
		require.Equal(t, c.isPermanent, worker.IsPermanent(c.err), "%v", c.err)
	}
}
