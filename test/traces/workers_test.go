package traces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
)

// A worker is a goroutine that makes a call which may wait: a Get of some kind, an
// AddContext, or a Drain.
type worker struct {
	name string // perhaps ""
	// anonymous says that the contract leaves it open which worker wakes: this one
	// sleeps beside others.
	anonymous bool
	role      role
	context   context.Context // nil if its call has none
	cancel    context.CancelFunc
	// turns tells a worker that loops how its turn ends.
	turns chan string
}

// A role is what a worker is there for.
type role int

const (
	getting role = iota // it sleeps in Get, GetContext, GetBatch, or the loop over Items
	adding              // it waits for room in AddContext
	ending              // it waits in Drain
	roles
)

// An arrival is the return of a worker from its call.
type arrival struct {
	worker *worker
	items  []string
	reason string // why there is no item, or what else the call said
}

func (a arrival) String() string { return list(a.items) + a.reason }

// got is the arrival of a worker that was given an item, or none for a reason.
func got(w *worker, item, reason string) arrival {
	if reason != "" {
		return arrival{worker: w, reason: reason}
	}
	return arrival{worker: w, items: []string{item}}
}

// roomForArrivals is more than the workers of any scenario.
const roomForArrivals = 1 << 12

// newWorker returns a worker that calls in some manner: see the usage of get.
func newWorker(name, manner string) *worker {
	w := &worker{name: name}
	if manner != "" {
		w.context, w.cancel = context.WithCancel(context.Background())
	}
	if manner == "with ended context" {
		w.cancel()
	}
	return w
}

// start lets a worker make its call.
func (p *player) start(w *worker, call func() arrival) {
	p.away[w.role] = append(p.away[w.role], w)
	go func() { p.arrivals <- call() }()
}

// startGet lets a worker call Get, or GetContext.
func (p *player) startGet(w *worker) {
	p.start(w, func() arrival {
		if w.context != nil {
			item, reason := p.queue.getContext(w.context)
			return got(w, item, reason)
		}
		item, reason := p.queue.get()
		return got(w, item, reason)
	})
}

// startBatch lets a worker call GetBatch for so many items.
func (p *player) startBatch(w *worker, n int) {
	p.start(w, func() arrival {
		items, reason := p.queue.getBatch(w.context, n)
		return arrival{w, items, reason}
	})
}

// settle waits until everybody in the bubble is at rest, and notes who woke.
func (p *player) settle() {
	synctest.Wait()
	for len(p.arrivals) > 0 {
		p.note(<-p.arrivals)
	}
}

func (p *player) note(a arrival) {
	p.woken = append(p.woken, a)
	of := &p.away[a.worker.role]
	*of = slices.DeleteFunc(*of, func(w *worker) bool { return w == a.worker })
}

// returned takes the return of a worker out of what was noted, if it is there.
func (p *player) returned(w *worker) (a arrival, ok bool) {
	p.settle()
	i := slices.IndexFunc(p.woken, func(a arrival) bool { return a.worker == w })
	if i < 0 {
		return a, false
	}
	a = p.woken[i]
	p.woken = slices.Delete(p.woken, i, i+1)
	return a, true
}

// hide makes all sleepers anonymous if there are several.
func (p *player) hide() {
	if len(p.away[getting]) > 1 {
		for _, w := range p.away[getting] {
			w.anonymous = true
		}
	}
}

// wakeUps says who woke, in an order that does not depend on chance.
func (p *player) wakeUps() []string {
	var named, items []string
	told, gotten := 0, 0
	for _, a := range p.woken {
		switch {
		case a.worker.title() == aDrain && a.reason == drainReturns:
			p.ended++
		case a.worker.role == adding && a.reason == toldOfShutdown:
			named = append(named, a.worker.title()+" gets "+a.reason)
		case a.worker.role != getting || a.reason == givesUp || a.reason == leaves:
			named = append(named, a.worker.title()+" "+a.reason)
		case a.worker.name != "" && !a.worker.anonymous:
			named = append(named, a.worker.title()+" gets "+p.unlessOpen(a.items)+a.reason)
		case a.reason == toldOfShutdown:
			told++
		default:
			gotten++
			items = append(items, a.items...)
		}
	}
	p.woken = nil
	slices.Sort(named)
	return append(named, gets(gotten, list(sorted(items))), gets(told, toldOfShutdown))
}

const aDrain = "a drain"

// title is what a worker goes by.
func (w *worker) title() string {
	switch {
	case w.name == "" && w.role == ending:
		return aDrain
	case w.name == "":
		return "a worker"
	}
	return "worker " + w.name
}

// unlessOpen writes the items of one worker in their order, if the contract has one.
func (p *player) unlessOpen(items []string) string {
	if p.scenario.ordered() {
		return list(items)
	}
	return list(sorted(items))
}

// gets says that so many workers get something.
func gets(workers int, what string) string {
	if workers == 0 {
		return ""
	}
	return number(workers, "worker") + verbFor(workers, " gets ", " get ") + what
}

// number counts things in words: a worker, 2 workers.
func number(n int, thing string) string {
	if n == 1 {
		return "a " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func verbFor(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// join writes what happened one after the other.
func join(events []string) string {
	return strings.Join(slices.DeleteFunc(events, func(e string) bool { return e == "" }), "; ")
}
