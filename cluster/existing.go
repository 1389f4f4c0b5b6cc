package cluster

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/shardq/shardq/cluster/internal/names"
)

// Existing returns the options with the Partitions, Lease, Values and Replicas
// of the queue that the servers have. Tools use it, which do not know what the
// queue was made with. It returns an error that wraps
// jetstream.ErrStreamNotFound if there is no such queue.
func Existing[K comparable](ctx context.Context, o Options[K]) (Options[K], error) {
	connection, _, stop, err := o.connect()
	if err != nil {
		return o, err
	}
	defer stop()
	js, err := o.jetStream(connection)
	if err != nil {
		return o, fmt.Errorf("cluster: %w", err)
	}
	stream, err := js.Stream(ctx, names.Queue(o.Name).StateStream())
	if err != nil {
		return o, fmt.Errorf("cluster: the queue %q: %w", o.Name, err)
	}
	config := stream.CachedInfo().Config
	o.Replicas = config.Replicas
	o.Partitions, err = strconv.Atoi(config.Metadata[partitionsKey])
	if err == nil {
		o.Lease, err = time.ParseDuration(config.Metadata[leaseKey])
	}
	if err == nil {
		o.Values, err = strconv.ParseBool(config.Metadata[valuesKey])
	}
	if err != nil {
		return o, fmt.Errorf("cluster: the queue %q has other metadata: %w", o.Name, err)
	}
	return o, nil
}
