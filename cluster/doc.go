// Package cluster is a work queue that many machines share. It keeps the
// promises of package shardq among all of them: a pending key is stored once,
// one handler at a time has a key, a key that is added while it is in flight
// runs once more, and nothing that was acknowledged is lost.
//
// NATS JetStream stores the keys. A node with no servers to connect to starts
// one in its process, so that a queue of one process survives its restarts:
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
// A run may be repeated, after a crash, a lost lease or a lost acknowledgement:
// see [Claim.Sequence]. A handler whose process was frozen can go on beside the
// handler of the next owner. A sink that compares the [Fence] refuses what the
// frozen one writes. docs/cluster.md in the repository has all promises and
// settings.
package cluster
