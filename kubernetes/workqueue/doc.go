// Package workqueue has the constructors and the types of client-go's package
// of the same name, for shardq queues. To change over, replace the import:
//
//   - "k8s.io/client-go/util/workqueue"
//   - "github.com/shardq/shardq/kubernetes/workqueue"
//
// All that client-go has not deprecated is here, with its signatures and types,
// so that a queue of this package goes wherever one of client-go's does. It has
// one shard and client-go's order. [NewTypedRateLimitingQueueWithOptions] takes
// the options of a shardq queue.
//
// A queue with a name pushes client-go's seven metrics to the MetricsProvider
// of its configuration, or to the one that was set for client-go.
package workqueue
