package contract

import (
	"context"
	"errors"
	"slices"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// This file has the calls beside Get that may block: AddContext and Drain.

// maxPending is enough for an order among them.
const maxPending = 5

// addContext calls AddContext in a goroutine, unless many are waiting, or one
// with that item is. If two with one item are admitted at once, chance decides
// which adds it.
func (p *playing[T]) addContext(item T) {
	if unhashable(item) {
		p.unlessUnhashable(item, func() { _ = p.queue.AddContext(context.Background(), item, shardq.AddOptions{}) }, nil)
		return
	}
	line := p.model.bounds.waiters
	sameItem := func(w *pending[T]) bool { return w.item == item }
	if len(line) == maxPending || slices.ContainsFunc(line, sameItem) {
		return
	}
	w := &pending[T]{item: item}
	p.begin(w, func(ctx context.Context) { w.err = p.queue.AddContext(ctx, item, shardq.AddOptions{}) })
	p.model.addContext(w)
}

// drainContext calls Drain in a goroutine, unless many are waiting.
func (p *playing[T]) drainContext(number int) {
	if len(p.model.drain.pending) == maxPending {
		return
	}
	policies := []shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed, shardq.AwaitDelayed}
	w := &pending[T]{policy: policies[modulo(number, len(policies))], retries: modulo(number, 2*len(policies)) >= len(policies)}
	options := shardq.DrainOptions{Delayed: w.policy}
	if w.retries {
		options.Retries = shardq.AcceptRetries
	}
	p.begin(w, func(ctx context.Context) {
		w.dropped, w.err = p.queue.Drain(ctx, options)
	})
	p.model.startDrain(w)
}

// begin makes a call that may block.
func (p *playing[T]) begin(w *pending[T], call func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	p.pending = append(p.pending, w)
	go func() {
		call(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		w.returned = true
	}()
}

// cancelOne ends the context of one of the blocked calls, and returns the
// others.
func cancelOne[T comparable](delayed []*pending[T], number int) []*pending[T] {
	if len(delayed) == 0 {
		return nil
	}
	at := modulo(number, len(delayed))
	delayed[at].cancel()
	delayed[at].end(context.Canceled)
	return slices.Delete(delayed, at, at+1)
}

// settlePending checks which of them have returned, and their results.
func (p *playing[T]) settlePending() {
	for _, w := range p.pending {
		p.mu.Lock()
		returned := w.returned
		p.mu.Unlock()
		if returned != w.ended {
			p.fatalf("a call with the item %#v, policy %d: returned is %v, %v, not %v, %v",
				w.item, w.policy, returned, w.err, w.ended, w.wantErr)
		}
		if returned {
			w.cancel()
			p.checkPending(w)
		}
	}
	p.pending = slices.DeleteFunc(p.pending, func(w *pending[T]) bool { return w.ended })
}

func (p *playing[T]) checkPending(w *pending[T]) {
	if !errors.Is(w.err, w.wantErr) {
		p.fatalf("a call with the item %#v, policy %d, returned %v, not %v", w.item, w.policy, w.err, w.wantErr)
	}
	if w.shared != nil {
		p.checkShared(w)
	} else if !sameItems(w.dropped, w.wantDropped) {
		p.fatalf("a Drain returned %#v as dropped, not %#v", w.dropped, w.wantDropped)
	}
	if left := (*shardq.DrainError[T])(nil); errors.As(w.err, &left) {
		p.checkLeft(left)
	}
}

// checkShared compares the items that several drains have returned together.
func (p *playing[T]) checkShared(w *pending[T]) {
	all := w.shared
	all.got = append(all.got, w.dropped...)
	if all.left--; all.left == 0 && !sameItems(all.got, all.want) {
		p.fatalf("drains returned %#v as dropped, not %#v", all.got, all.want)
	}
}

// checkLeft compares the items that a DrainError lists.
func (p *playing[T]) checkLeft(left *shardq.DrainError[T]) {
	want, total := p.model.statsNow(), p.model.held()
	counts := [3]int{left.Ready, left.Processing, left.Delayed}
	if counts != [3]int{want.Ready, want.Processing, total - want.Ready - want.Processing} || left.Queue != modelName {
		p.fatalf("a Drain left %+v, not %+v", left, want)
	}
	items := left.Left()
	if len(items) != total {
		p.fatalf("a Drain has %+v as left, not %d items", items, total)
	}
	if !slices.IsSortedFunc(items, func(a, b stats.Item[T]) int { return rank(a) - rank(b) }) {
		p.fatalf("a Drain has %+v as left, which is no order", items)
	}
	for _, row := range items {
		p.checkRow(row)
	}
}

// rank is the place of an item's state in a DrainError.
func rank[T comparable](row stats.Item[T]) int {
	return slices.Index([]stats.State{stats.Processing, stats.Ready, stats.Delayed}, row.State)
}

// sameItems compares items in any order.
func sameItems[T comparable](a, b []T) bool {
	count := map[T]int{}
	for _, item := range a {
		count[item]++
	}
	for _, item := range b {
		count[item]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
