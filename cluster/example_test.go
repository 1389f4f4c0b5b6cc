package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardq/shardq/cluster"
)

// Invoices are sent by one process, and survive its end. With Servers many
// processes share the work.
func Example() {
	ctx := context.Background()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	dir, err := os.MkdirTemp("", "invoices") // for this example: keep yours
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	node, err := cluster.Join(ctx, cluster.Options[string]{
		Name: "invoices",
		Dir:  dir, // or Servers: "nats://a.example.com,nats://b.example.com", Replicas: 3
	})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	for range 3 { // each returns when the key is stored, which happens once
		if err := node.Add(ctx, "invoice/17"); err != nil {
			log.Fatal(err)
		}
	}
	if err := node.AddAfter(ctx, "invoice/18", time.Second); err != nil {
		log.Fatal(err)
	}
	err = node.Run(ctx, 8, func(ctx context.Context, c cluster.Claim[string]) error {
		fmt.Println("sent:", c.Key, "in attempt", c.Attempt())
		if c.Key == "invoice/18" {
			stop() // for this example: SIGTERM does the same
		}
		return nil
	})
	fmt.Println("end:", err)
	// Output:
	// sent: invoice/17 in attempt 1
	// sent: invoice/18 in attempt 1
	// end: <nil>
}
