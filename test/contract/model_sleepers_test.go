package contract

import (
	"context"
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
)

// A sleeper is a consumer in a Get that has not returned.
type sleeper struct {
	cancel   context.CancelFunc // nil: of a Get without a context
	canceled bool
	// size is how many items a GetBatch has room for, and exactly is how many it has to
	// return, if that is known.
	size, exactly int
}

// An outcome is what a Get returned.
type outcome[T comparable] struct {
	of    *sleeper
	items []T
	err   error
	at    time.Duration
}

// mostSleepers is enough to see that more than one are woken, and less than all.
const mostSleepers = 6

// get calls Get, or GetContext, in a goroutine, unless many sleep there already.
func (p *playing[T]) get(kind callKind) {
	if len(p.sleepers) == mostSleepers {
		return
	}
	if kind == callGetBeside && p.model.ready() == 0 {
		p.hurried = true // with an item ready, what follows might find it in either phase
	}
	get, s := p.plainGet, &sleeper{size: 1}
	if kind == callGetContext {
		ctx, cancel := context.WithCancel(context.Background())
		s.cancel = cancel
		get = func() (T, error) { return p.queue.GetContext(ctx) }
	}
	p.sleep(s, func() ([]T, error) {
		item, err := get()
		return []T{item}, err
	})
}

// sleep makes a call that may sleep.
func (p *playing[T]) sleep(s *sleeper, get func() ([]T, error)) {
	p.sleepers = append(p.sleepers, s)
	go func() {
		items, err := get()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcomes = append(p.outcomes, outcome[T]{s, items, err, p.clock.Now().Sub(p.began)})
	}()
}

// getBatch calls GetBatch in a goroutine, likewise.
func (p *playing[T]) getBatch(size int) {
	p.seek(size, func(ctx context.Context) ([]T, error) {
		dst := make([]T, size)
		n, err := p.queue.GetBatch(ctx, dst)
		return dst[:n], err
	})
}

// seek makes a call for as many items as there are, up to size, in a goroutine, likewise.
func (p *playing[T]) seek(size int, get func(ctx context.Context) ([]T, error)) {
	if len(p.sleepers) == mostSleepers {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sleeper{cancel: cancel, size: size}
	if !p.hurried {
		s.exactly = min(size, p.model.ready())
	}
	p.sleep(s, func() ([]T, error) { return get(ctx) })
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

// cancel ends the context of one of the sleepers that have one.
func (p *playing[T]) cancel(number int) {
	var cancelable []*sleeper
	for _, s := range p.sleepers {
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

// settle waits until all is at rest, and checks who still sleeps.
func (p *playing[T]) settle() {
	synctest.Wait()
	p.model.rest()
	p.settleSleepers()
	p.hurried = false
	p.settlePending()
	if got, want := int(p.drained.Load()), p.model.drained; got != want {
		p.fatalf("%d drains have returned, not %d", got, want)
	}
}

// settleSleepers looks at the Gets that have returned, and at those that have not.
func (p *playing[T]) settleSleepers() {
	if len(p.sleepers) == 0 {
		return
	}
	var batches []outcome[T]
	told := false
	for _, o := range p.takeOutcomes() {
		p.sleepers = slices.DeleteFunc(p.sleepers, func(s *sleeper) bool { return s == o.of })
		var zero T
		switch {
		case o.err == nil:
			p.checkSize(o)
			batches = append(batches, o)
		case slices.ContainsFunc(o.items, func(item T) bool { return item != zero }):
			p.fatalf("items %#v came with the error %v", o.items, o.err)
		case o.err == shardq.ErrShutDown:
			told = true
		case !o.of.canceled || !errors.Is(o.err, context.Canceled):
			p.fatalf("a Get returned the error %v", o.err)
		}
	}
	p.take(batches)
	p.checkSleepers(p.model.ready(), told)
}

// checkSize checks how many items came at once.
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

// checkSleepers checks that those who sleep on may, and that nobody was told of a
// shutdown too early.
func (p *playing[T]) checkSleepers(ready int, told bool) {
	closed := p.model.closed
	if told && (!closed || ready > 0 && !p.hurried) {
		p.fatalf("a Get said shutdown, with %d items ready, and closed: %v", ready, closed)
	}
	for _, s := range p.sleepers {
		if ready > 0 || closed || s.canceled {
			p.fatalf("of %d sleepers, one sleeps on with %d items ready, closed: %v, canceled: %v",
				len(p.sleepers), ready, closed, s.canceled)
		}
	}
}

// take tells the model of the items that were handed out at the same time. They have to
// be those that one Get after the other may have returned, and those of each call in
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
	delete(p.told, item)
	p.keep(item)
}

func (p *playing[T]) release() {
	drains := p.model.drained + p.model.draining
	if len(p.sleepers)+len(p.pending) == 0 && int(p.drained.Load()) == drains {
		return // nobody is there; and a queue that has failed might fail again
	}
	p.queue.ShutDown()
	for _, w := range p.pending {
		w.cancel()
	}
	for _, s := range p.sleepers {
		if s.cancel != nil {
			s.cancel()
		}
	}
}
