// Package cluster is a work queue that many machines share. It keeps the
// promises of package shardq among all of them: a key that is pending is stored
// once, one handler at a time has a key, a key that is added while it is in
// flight runs once more, and nothing that was acknowledged is lost.
//
// The keys are in streams of NATS JetStream. A node with no servers to connect
// to starts one in its process, with a store in a directory. So a queue of one
// process survives its restarts, and the same program works with a cluster:
//
//	node, err := cluster.Join(ctx, cluster.Options[string]{Name: "invoices"})
//	if err != nil {
//		return err
//	}
//	defer node.Close()
//	if err := node.Add(ctx, "invoice/17"); err != nil { // stored when it returns nil
//		return err
//	}
//	return node.Run(ctx, 8, func(ctx context.Context, c cluster.Claim[string]) error {
//		return send(ctx, c.Key, c.Fence())
//	})
//
// # How it works
//
// Keys hash to partitions. Each partition has one owner at a time, a node that
// runs: its lease is a message with a limited life, which the owner replaces
// before it ends. The owner takes the messages of its partitions, and puts
// their keys into a shardq.Queue in its memory. Its workers process them there,
// with the groups, priorities and hooks of that queue. When a handler returns
// nil, the node acknowledges the messages that the run has served, and the
// servers delete them.
//
// Nodes send heartbeats. A partition belongs to the node with
// the greatest hash of its id and the partition (rendezvous hashing), so a node
// that comes or goes moves no more partitions than it must.
//
// # What is promised, and what is not
//
// A run may be repeated: after a crash, a lost lease or a lost acknowledgement.
// So a handler must be idempotent, or its sink must know what it has seen: see
// [Claim.Sequence] and [Claim.Values].
//
// While each node can renew its leases, no two handlers have the same key. A
// node that cannot cancels the contexts of its handlers in time. But no program
// can stop itself while it is frozen, and its machine's clock may stop with it.
// When it wakes up, a handler can go on for a moment beside that of the next
// owner. A sink that compares the [Fence] refuses what it writes.
//
// docs/cluster.md in the repository has the promises one by one, the failures
// and what is seen of them, and the settings for production.
package cluster
