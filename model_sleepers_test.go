package shardq_test

import (
	"context"
	"errors"
	"slices"
	"testing/synctest"

	"github.com/shardq/shardq"
)

// A sleeper is a consumer in a Get that has not returned.
type sleeper struct {
	cancel   context.CancelFunc // nil: of a Get without a context
	canceled bool
}

// An outcome is what a Get returned.
type outcome[T comparable] struct {
	of   *sleeper
	item T
	err  error
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
	s := &sleeper{}
	p.sleepers = append(p.sleepers, s)
	get := p.plainGet
	if kind == callGetContext {
		ctx, cancel := context.WithCancel(context.Background())
		s.cancel = cancel
		get = func() (T, error) { return p.queue.GetContext(ctx) }
	}
	go func() {
		item, err := get()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outcomes = append(p.outcomes, outcome[T]{s, item, err})
	}()
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
	p.settleSleepers()
	p.hurried = false
	p.model.endDrains()
	if got, want := int(p.drained.Load()), p.model.drained; got != want {
		p.fatalf("%d drains have returned, not %d", got, want)
	}
}

// settleSleepers looks at the Gets that have returned, and at those that have not.
func (p *playing[T]) settleSleepers() {
	if len(p.sleepers) == 0 {
		return
	}
	var items []T
	told := false
	for _, o := range p.takeOutcomes() {
		p.sleepers = slices.DeleteFunc(p.sleepers, func(s *sleeper) bool { return s == o.of })
		var zero T
		switch {
		case o.err == nil:
			items = append(items, o.item)
		case o.item != zero:
			p.fatalf("item %#v came with the error %v", o.item, o.err)
		case o.err == shardq.ErrShutDown:
			told = true
		case !o.of.canceled || !errors.Is(o.err, context.Canceled):
			p.fatalf("a Get returned the error %v", o.err)
		}
	}
	p.take(items)
	p.checkSleepers(p.model.ready(), told)
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
// be those that one Get after the other may have returned.
func (p *playing[T]) take(items []T) {
	for len(items) > 0 {
		at := slices.IndexFunc(items, p.model.take)
		if at < 0 {
			p.fatalf("Get returned %#v, but the lines are %v, and the phases %v", items, p.model.lines, p.model.phase)
		}
		p.held = append(p.held, items[at])
		p.event().got = append(p.event().got, items[at])
		items = slices.Delete(items, at, at+1)
	}
}

func (p *playing[T]) release() {
	drains := p.model.drained + p.model.draining
	if len(p.sleepers) == 0 && int(p.drained.Load()) == drains {
		return // nobody is there; and a queue that has failed might fail again
	}
	p.queue.ShutDown()
	for _, s := range p.sleepers {
		if s.cancel != nil {
			s.cancel()
		}
	}
}
