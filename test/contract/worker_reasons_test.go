package contract

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/worker"
)

// Each failure says how long the attempt took, and whether and why the item
// will not run again.
func TestC73DurationAndReason(t *testing.T) {
	handle := func(_ context.Context, item string) error {
		time.Sleep(time.Minute)
		if item == "refused" {
			return worker.Permanent(errOnPurpose)
		}
		return errOnPurpose
	}
	forEachForm(t, handle, func(t *testing.T, o worker.Options[string]) {
		o.MaxAttempts = 2
		q := newQueue[string](2)
		s := startPool(t, q, o)
		q.Add("refused")
		synctest.Wait()
		q.Add("again")
		time.Sleep(time.Hour)
		s.stopPool(t)
		reasons := map[string][]worker.Reason{}
		for _, f := range s.failed {
			reasons[f.Item] = append(reasons[f.Item], f.Reason)
			require.Equal(t, time.Minute, f.Duration)
		}
		require.Equal(t, map[string][]worker.Reason{
			"refused": {worker.ReasonPermanent},
			"again":   {worker.ReasonNone, worker.ReasonExhausted},
		}, reasons)
		for _, f := range s.discarded {
			require.Equal(t, time.Minute, f.Duration)
			require.Equal(t, map[string]worker.Reason{
				"refused": worker.ReasonPermanent, "again": worker.ReasonExhausted}[f.Item], f.Reason)
		}
		require.Len(t, s.discarded, 2)
	})
}

func TestC73NamesOfReasons(t *testing.T) {
	var names []string
	for r := worker.ReasonNone; r <= worker.ReasonRefused+1; r++ {
		names = append(names, r.String())
	}
	require.Equal(t, []string{"none", "permanent", "exhausted", "shutdown", "refused", "Reason(5)"}, names)
}
