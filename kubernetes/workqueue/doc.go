// Package workqueue has the constructors and the types of client-go's package
// of the same name, for shardq queues. To change over, replace the import:
//
//   - "k8s.io/client-go/util/workqueue"
//   - "github.com/shardq/shardq/kubernetes/workqueue"
//
// The constructors and limiters that client-go has not deprecated are here,
// with the same signatures, and the interfaces and the configurations are
// client-go's own types. So a queue of this package goes wherever one of
// client-go's does. docs/reference/semantics.md in the repository compares the
// two clause by clause.
//
// A queue has one shard, so that items are handed out in the order of
// client-go. [NewTypedRateLimitingQueueWithOptions] takes the options of a
// shardq queue, such as more shards, groups, or a hook for stuck items.
//
// # Metrics
//
// A queue with a name pushes client-go's seven metrics to the MetricsProvider
// of its configuration, or to the one that was set for client-go: by
// [SetProvider] here or there, or by controller-runtime. client-go also logs
// each change of its items at verbosity 5, which this package does not.
package workqueue
