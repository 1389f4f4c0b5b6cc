package contract

import (
	"context"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// recovered returns the value with which do panics.
func recovered(do func()) (fault any) {
	defer func() { fault = recover() }()
	do()
	return nil
}

// draining is a running Drain.
type draining[T comparable] struct {
	returned func() bool
	dropped  []T
	err      error
}

// drain starts a Drain.
func drain[T comparable](ctx context.Context, q *shardq.Queue[T], options shardq.DrainOptions) *draining[T] {
	d := &draining[T]{}
	d.returned = returned(func() { d.dropped, d.err = q.Drain(ctx, options) })
	return d
}

// itemsOf returns the items of rows.
func itemsOf[T comparable](rows []stats.Item[T]) (items []T) {
	for _, row := range rows {
		items = append(items, row.Item)
	}
	return items
}
