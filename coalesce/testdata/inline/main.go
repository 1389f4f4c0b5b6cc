// The program of a user who imports only package coalesce.
package main

import (
	"context"

	"github.com/shardq/shardq/coalesce"
)

func main() {
	c := coalesce.MustNew(coalesce.Options[string, int]{Merge: func(a, b int) int { return a + b }})
	_ = c.Put("key", 1)
	key, value, _ := c.Take(context.Background())
	_ = c.Retry(key, value)
	key, _, _ = c.Take(context.Background())
	c.Done(key)
	c.ShutDown()
}
