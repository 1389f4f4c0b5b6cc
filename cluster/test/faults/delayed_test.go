package faults

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
)

// TestDelayedKeysCannotBeRead checks that keys without a delay run beside an
// operator's consumer on the stream of delays, or without that stream, that the
// node says so once, and that delayed keys run when the cause is gone.
func TestDelayedKeysCannotBeRead(t *testing.T) {
	o, log := alone(t), logbook{}
	js := client(t, o.Servers)
	o.Logger = log.logger()
	node := join(t, o)
	audit := jetstream.ConsumerConfig{Durable: "audit", AckPolicy: jetstream.AckExplicitPolicy}
	_, err := stream(t, js, "delayed").CreateConsumer(t.Context(), audit)
	require.NoError(t, err)
	ran, _ := beginKeys(t, node)
	fails := func(reason string) {
		eventually(t, func() bool {
			s := status(t, node)
			return node.Stats().Failing == 1 && len(s.Members) == 1 && s.Members[0].Due.State == cluster.Failing
		})
		require.Contains(t, status(t, node).Members[0].Due.Error, reason)
		require.NoError(t, node.Add(t.Context(), "now"))
		require.Equal(t, "now", receive(t, ran))
	}
	fails("10100")
	require.NoError(t, node.AddAfter(t.Context(), "later", time.Millisecond))
	require.NoError(t, stream(t, js, "delayed").DeleteConsumer(t.Context(), "audit"))
	require.Equal(t, "later", receive(t, ran))

	require.NoError(t, stream(t, js, "delayed").DeleteConsumer(t.Context(), "due"))
	_, err = stream(t, js, "delayed").CreateConsumer(t.Context(), audit)
	require.NoError(t, err)
	fails("10100")
	require.Equal(t, 2, log.count("delayed keys fails", "level=WARN"), "one line for each change")
	require.NoError(t, js.DeleteStream(t.Context(), "shardq-faults-delayed"))
	join(t, o) // makes it again
	require.NoError(t, node.AddAfter(t.Context(), "at last", time.Millisecond))
	require.Equal(t, "at last", receive(t, ran))
	eventually(t, func() bool { return node.Stats().Failing == 0 })
}
