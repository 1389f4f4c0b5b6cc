//go:build unix

package faults

import (
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
)

func sizeOf(c cluster.Claim[string]) int { return len(c.Values()[0].Data) }

// TestLargeValuesOverASlowLink checks that a server has no reason to cut off a
// node whose link is slower than its disk.
func TestLargeValuesOverASlowLink(t *testing.T) {
	t.Parallel()
	s, _ := with(t, nil)
	o := small(s.ClientURL())
	o.Values, o.Lease = true, longLease
	producer := join(t, o)
	const values, size = 200, 500_000
	for i := range values {
		require.NoError(t, producer.Put(t.Context(), strconv.Itoa(i), make([]byte, size)))
	}
	l := newLink(t, s.ClientURL())
	l.spoil("bandwidth", `{"rate": 20000}`, "downstream")
	o.Servers = l.url()
	ran, _ := beginSeeing(t, join(t, o), sizeOf)
	for range values {
		require.Equal(t, size, receive(t, ran))
	}
	eventually(t, func() bool { return status(t, producer).Pending == 0 })
	require.Empty(t, ran, "no run is repeated")
	about, err := s.Varz(nil)
	require.NoError(t, err)
	require.Zero(t, about.SlowConsumers)
}

// TestAMessageLargerThanARequest checks that a value runs which the servers took
// before their limit was lowered.
func TestAMessageLargerThanARequest(t *testing.T) {
	t.Parallel()
	s, settings := with(t, func(o *server.Options) { o.MaxPayload = 8 << 20 })
	o := small(s.ClientURL())
	o.Values, o.Lease = true, 5*time.Second // the owner looks once in a lease
	producer := join(t, o)
	const size = 6 << 20 // a request of one of four partitions has 4 MiB
	require.NoError(t, producer.Put(t.Context(), "now", make([]byte, size)))
	lower := settings.Clone()
	lower.MaxPayload = 1 << 20
	require.NoError(t, s.ReloadOptions(lower))
	ran, _ := beginSeeing(t, join(t, o), sizeOf)
	require.Equal(t, size, receive(t, ran))
}
