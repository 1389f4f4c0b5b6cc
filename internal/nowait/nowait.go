// Package nowait makes a source of claims hand out what is ready, and not wait.
package nowait

import (
	"context"
	"errors"
	"sync/atomic"
)

// A Context has ended once its Done was asked for, which a source does when it is
// about to wait. A check before the ClaimBatch would not do, because another
// consumer may take the item in between.
type Context struct {
	context.Context
	ended atomic.Bool
}

// Err is the error of a Context that has ended.
var Err = errors.New("nothing is ready")

// Ended is a context that has ended.
var Ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (c *Context) Done() <-chan struct{} {
	c.ended.Store(true)
	return Ended.Done()
}

// Err returns Err from then on, whatever has ended since.
func (c *Context) Err() error {
	if c.ended.Load() {
		return Err
	}
	return c.Context.Err()
}
