package traces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/shardq/shardq"
)

// A consumer is a goroutine that makes a call which may block: a Get of some
// kind, an AddContext, or a Drain.
type consumer struct {
	name string // perhaps ""
	// anonymous says that other workers are parked as well, so that the
	// contract leaves it open which one wakes.
	anonymous bool
	role      role
	context   context.Context // nil if its call has none
	cancel    context.CancelFunc
	// turns has the ways in which the turns of a looping worker end.
	turns chan string
}

// A role is the kind of call that a worker makes.
type role int

const (
	getting role = iota // it is parked in Get, GetContext, ClaimBatch, or the loop over Items
	adding              // it waits for capacity in AddContext
	ending              // it waits in Drain
	roles
)

// An arrival is the return of a worker from its call.
type arrival struct {
	worker *consumer
	items  []string
	reason string // why there is no item, or what else the call returned
}

func (a arrival) String() string { return list(a.items) + a.reason }

// got is the arrival of a worker with an item, or with the reason why it has
// none.
func got(w *consumer, item string, err error) arrival {
	if err != nil {
		return arrival{worker: w, reason: reasonOf(item, err)}
	}
	return arrival{worker: w, items: []string{nameOf(item)}}
}

// parks is the outcome of a Get that blocks.
const parks = "parks"

// maxArrivals is more than the workers of any scenario.
const maxArrivals = 1 << 12

// newConsumer returns a worker that calls in some manner: see the form of get.
func newConsumer(name, manner string) *consumer {
	w := &consumer{name: name}
	if manner != "" {
		w.context, w.cancel = context.WithCancel(context.Background())
	}
	if manner == "with ended context" {
		w.cancel()
	}
	return w
}

// start lets a worker make its call.
func (p *player) start(w *consumer, call func() arrival) {
	p.away[w.role] = append(p.away[w.role], w)
	go func() { p.arrivals <- call() }()
}

// startGet lets a worker call Get or GetContext.
func (p *player) startGet(w *consumer) {
	p.start(w, func() arrival {
		if w.context != nil {
			item, err := p.queue.GetContext(w.context)
			return got(w, item, err)
		}
		item, shutdown := p.queue.Get()
		if shutdown {
			return got(w, item, shardq.ErrShutDown)
		}
		return got(w, item, nil)
	})
}

// settle waits until all goroutines of the bubble are at rest, and notes which
// workers returned.
func (p *player) settle() {
	synctest.Wait()
	for len(p.arrivals) > 0 {
		p.note(<-p.arrivals)
	}
}

func (p *player) note(a arrival) {
	p.woken = append(p.woken, a)
	of := &p.away[a.worker.role]
	*of = slices.DeleteFunc(*of, func(w *consumer) bool { return w == a.worker })
}

// returned removes the arrival of a worker from the noted ones, if it is there.
func (p *player) returned(w *consumer) (a arrival, ok bool) {
	p.settle()
	i := slices.IndexFunc(p.woken, func(a arrival) bool { return a.worker == w })
	if i < 0 {
		return a, false
	}
	a = p.woken[i]
	p.woken = slices.Delete(p.woken, i, i+1)
	return a, true
}

// hide makes all parked workers anonymous if there are several.
func (p *player) hide() {
	if len(p.away[getting]) > 1 {
		for _, w := range p.away[getting] {
			w.anonymous = true
		}
	}
}

// wakeUps describes which workers woke, in an order that does not depend on
// chance.
func (p *player) wakeUps() []string {
	var named, items []string
	shutdowns, gotten := 0, 0
	for _, a := range p.woken {
		switch {
		case a.worker.title() == aDrain && a.reason == drainReturns:
			p.ended++
		case a.worker.role == adding && a.reason == shutDown:
			named = append(named, a.worker.title()+" gets "+a.reason)
		case a.worker.role != getting || a.reason == isCanceled || a.reason == leaves:
			named = append(named, a.worker.title()+" "+a.reason)
		case a.worker.name != "" && !a.worker.anonymous:
			named = append(named, a.worker.title()+" gets "+p.unlessOpen(a.items)+a.reason)
		case a.reason == shutDown:
			shutdowns++
		default:
			gotten++
			items = append(items, a.items...)
		}
	}
	p.woken = nil
	slices.Sort(named)
	return append(named, gets(gotten, list(sorted(items))), gets(shutdowns, shutDown))
}

const aDrain = "a drain"

// title returns the name of a worker in an outcome.
func (w *consumer) title() string {
	switch {
	case w.name == "" && w.role == ending:
		return aDrain
	case w.name == "":
		return "a worker"
	}
	return "worker " + w.name
}

// unlessOpen writes the items of one worker, in their order if the contract has
// one.
func (p *player) unlessOpen(items []string) string {
	if p.scenario.ordered() {
		return list(items)
	}
	return list(sorted(items))
}

// gets writes that so many workers get something.
func gets(workers int, what string) string {
	if workers == 0 {
		return ""
	}
	return number(workers, "worker") + verbFor(workers, " gets ", " get ") + what
}

// number writes a number of things: a worker, 2 workers.
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

// join writes events one after the other.
func join(events []string) string {
	return strings.Join(slices.DeleteFunc(events, func(e string) bool { return e == "" }), "; ")
}
