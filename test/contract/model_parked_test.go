package contract

import (
	"context"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
)

// A parkedGet is a Get that has not returned.
type parkedGet struct {
	cancel   context.CancelFunc // nil: of a Get without a context
	canceled bool
	// size is the largest number of items that fit, and exactly the number that
	// it must return, if that is known.
	size, exactly int
}

// An outcome is what a Get returned.
type outcome[T comparable] struct {
	of    *parkedGet
	items []T
	err   error
	at    time.Duration
}

// maxParked is enough to see that more than one wake, and not all.
const maxParked = 6

// get calls Get or GetContext in a goroutine, unless many are parked already.
func (p *playing[T]) get(kind callKind) {
	if len(p.parked) == maxParked {
		return
	}
	if kind == callGetBeside && p.model.ready() == 0 {
		p.hurried = true // with an item ready, the next call might find it in either phase
	}
	get, s := p.plainGet, &parkedGet{size: 1}
	if kind == callGetContext {
		ctx, cancel := context.WithCancel(context.Background())
		s.cancel = cancel
		get = func() (T, error) { return p.queue.GetContext(ctx) }
	}
	p.park(s, func() ([]T, error) {
		item, err := get()
		return []T{item}, err
	})
}

// park makes a call that may park.
func (p *playing[T]) park(s *parkedGet, get func() ([]T, error)) {
	p.parked = append(p.parked, s)
	go func() {
		items, err := get()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcomes = append(p.outcomes, outcome[T]{s, items, err, p.clock.Now().Sub(p.began)})
	}()
}

// getBatch calls GetBatch in a goroutine, under the same condition.
func (p *playing[T]) getBatch(size int) {
	p.seek(size, func(ctx context.Context) ([]T, error) {
		dst := make([]T, size)
		n, err := getBatch(p.queue, ctx, dst)
		return dst[:n], err
	})
}

// seek makes a call for up to size items in a goroutine, under the same
// condition.
func (p *playing[T]) seek(size int, get func(ctx context.Context) ([]T, error)) {
	if len(p.parked) == maxParked {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &parkedGet{cancel: cancel, size: size}
	if !p.hurried {
		s.exactly = min(size, p.model.ready())
	}
	p.park(s, func() ([]T, error) { return get(ctx) })
}

// plainGet is Get in the form of GetContext.
func (p *playing[T]) plainGet() (T, error) {
	item, shutdown := p.queue.Get()
	if shutdown {
		return item, shardq.ErrShutDown
	}
	return item, nil
}

// getCanceled calls GetContext with a context that has ended.
func (p *playing[T]) getCanceled() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if item, err := p.queue.GetContext(ctx); !errors.Is(err, context.Canceled) {
		p.fatalf("GetContext with a context that has ended returned %#v, %v", item, err)
	}
}

// cancel ends the context of one of the parked Gets that have one.
func (p *playing[T]) cancel(number int) {
	var cancelable []*parkedGet
	for _, s := range p.parked {
		if s.cancel != nil {
			cancelable = append(cancelable, s)
		}
	}
	if len(cancelable) > 0 {
		s := cancelable[modulo(number, len(cancelable))]
		s.canceled = true
		s.cancel()
	}
}

// settle waits until all goroutines are blocked, and checks which Gets are
// still parked.
func (p *playing[T]) settle() {
	synctest.Wait()
	p.model.rest()
	p.settleParked()
	p.hurried = false
	p.settlePending()
	if got, want := int(p.drained.Load()), p.model.drained; got != want {
		p.fatalf("%d drains have returned, not %d", got, want)
	}
}

// settleParked checks the Gets that have returned, and those that have not.
func (p *playing[T]) settleParked() {
	if len(p.parked) == 0 {
		return
	}
	var batches []outcome[T]
	reported := false
	for _, o := range p.takeOutcomes() {
		p.parked = slices.DeleteFunc(p.parked, func(s *parkedGet) bool { return s == o.of })
		var zero T
		switch {
		case o.err == nil:
			p.checkSize(o)
			batches = append(batches, o)
		case slices.ContainsFunc(o.items, func(item T) bool { return item != zero }):
			p.fatalf("items %#v were returned with the error %v", o.items, o.err)
		case o.err == shardq.ErrShutDown:
			reported = true
		case !o.of.canceled || !errors.Is(o.err, context.Canceled):
			p.fatalf("a Get returned the error %v", o.err)
		}
	}
	p.take(batches)
	p.checkParked(p.model.ready(), reported)
}

// checkSize checks how many items a Get returned.
func (p *playing[T]) checkSize(o outcome[T]) {
	n, s := len(o.items), o.of
	if n > s.size || n == 0 && s.size > 0 || s.exactly > 0 && n != s.exactly {
		p.fatalf("a Get for %d items, of which %d were there, returned %#v", s.size, s.exactly, o.items)
	}
}

func (p *playing[T]) takeOutcomes() []outcome[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	outcomes := p.outcomes
	p.outcomes = nil
	return outcomes
}

// checkParked checks that the parked Gets must not return, and that none
// returned a shutdown too early.
func (p *playing[T]) checkParked(ready int, reported bool) {
	closed := p.model.closed
	if reported && (!closed || ready > 0 && !p.hurried) {
		p.fatalf("a Get said shutdown, with %d items ready, and closed: %v", ready, closed)
	}
	for _, s := range p.parked {
		if ready > 0 || closed || s.canceled {
			p.fatalf("of %d parked Gets, one stays with %d items ready, closed: %v, canceled: %v",
				len(p.parked), ready, closed, s.canceled)
		}
	}
}

// take takes from the model the items that were handed out at the same time.
// Successive Gets must have been able to return them, and those of each call in
// their order.
func (p *playing[T]) take(batches []outcome[T]) {
	for {
		batches = slices.DeleteFunc(batches, func(o outcome[T]) bool { return len(o.items) == 0 })
		if len(batches) == 0 {
			return
		}
		at := slices.IndexFunc(batches, func(o outcome[T]) bool { return p.model.take(o.items[0]) })
		if at < 0 {
			p.fatalf("Get returned %+v, but the lines are %v, and the phases %v", batches, p.model.lines, p.model.phase)
		}
		o := &batches[at]
		p.taken(o.items[0], o.at)
		o.items = o.items[1:]
	}
}

func (p *playing[T]) taken(item T, at time.Duration) {
	p.held = append(p.held, item)
	p.event().got = append(p.event().got, item)
	p.model.stamp(item, at)
	p.model.measureBegin(item, at)
	delete(p.reported, item)
	p.keep(item)
}

func (p *playing[T]) release() {
	drains := p.model.drained + p.model.draining
	if len(p.parked)+len(p.pending) == 0 && int(p.drained.Load()) == drains {
		return // nothing is blocked, and a queue that has failed might fail again
	}
	p.queue.ShutDown()
	for _, w := range p.pending {
		w.cancel()
	}
	for _, s := range p.parked {
		if s.cancel != nil {
			s.cancel()
		}
	}
}
