// Package workqueue has the constructors and the types of client-go's package
// of the same name, for shardq queues. To change over, replace the import:
//
//   - "k8s.io/client-go/util/workqueue"
//   - "github.com/shardq/shardq/kubernetes/workqueue"
//
// All that client-go has not deprecated is here, with its signatures and types.
// A queue has one shard and client-go's order, and with a name client-go's seven
// metrics. [NewTypedRateLimitingQueueWithOptions] takes the options of shardq.
package workqueue
