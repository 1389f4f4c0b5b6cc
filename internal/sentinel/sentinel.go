// Package sentinel has the error that packages share which do not import one
// another: shard and worker, and through them the queue.
package sentinel

import "errors"

// ErrShutDown is the error of every ErrShutDown in this module.
var ErrShutDown = errors.New("shardq: queue is shut down")
