package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/shardq/shardq/cluster"
)

// The amounts of an account are added up on their way, whichever processes have
// put them.
func ExampleNewValues() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "amounts") // for this example: keep yours
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	node, err := cluster.Join(ctx, cluster.Options[string]{Name: "amounts", Dir: dir, Values: true})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	amounts, err := cluster.NewValues(node, cluster.ValuesOptions[int]{
		Merge: func(pending, next int) (int, error) { return pending + next, nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, amount := range []int{100, -30, 5} {
		if err := amounts.Put(ctx, "account/1", amount); err != nil {
			log.Fatal(err)
		}
	}
	// A run may be repeated. So this sink keeps the place of the last value it
	// has, in one transaction with the balance, and leaves out what it has.
	balance, has := 0, uint64(0)
	err = node.Run(ctx, 1, func(_ context.Context, c cluster.Claim[string]) error {
		amount, ok, err := amounts.After(c, has)
		if err != nil || !ok {
			return err
		}
		balance, has = balance+amount, c.Sequence()
		if balance == 75 { // for this example: the last may come in a run of its own
			stop()
		}
		return nil
	})
	fmt.Println("account/1 has", balance, "end:", err)
	// Output:
	// account/1 has 75 end: <nil>
}
