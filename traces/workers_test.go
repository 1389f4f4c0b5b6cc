package traces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
)

// A worker is a goroutine that calls Get once.
type worker struct {
	name string // perhaps ""
	// anonymous says that the contract leaves it open which worker wakes: this one
	// sleeps beside others.
	anonymous bool
	context   context.Context // nil if its Get has none
	cancel    context.CancelFunc
}

// An arrival is the return of a worker from its Get.
type arrival struct {
	worker *worker
	item   string
	reason string // why there is no item
}

func (a arrival) String() string { return a.item + a.reason }

// roomForArrivals is more than the workers of any scenario.
const roomForArrivals = 1 << 12

// newWorker returns a worker that gets in some manner: see the usage of get.
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

// start lets a worker call Get, or GetContext.
func (p *player) start(w *worker) {
	p.asleep = append(p.asleep, w)
	go func() {
		a := arrival{worker: w}
		if w.context != nil {
			a.item, a.reason = p.queue.getContext(w.context)
		} else {
			a.item, a.reason = p.queue.get()
		}
		p.arrivals <- a
	}()
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
	p.asleep = slices.DeleteFunc(p.asleep, func(w *worker) bool { return w == a.worker })
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
	if len(p.asleep) > 1 {
		for _, w := range p.asleep {
			w.anonymous = true
		}
	}
}

// wakeUps says who woke, in an order that does not depend on chance.
func (p *player) wakeUps() []string {
	var named, items []string
	told := 0
	for _, a := range p.woken {
		switch {
		case a.reason == givesUp:
			named = append(named, "worker "+a.worker.name+" "+givesUp)
		case a.worker.name != "" && !a.worker.anonymous:
			named = append(named, "worker "+a.worker.name+" gets "+a.String())
		case a.reason == toldOfShutdown:
			told++
		default:
			items = append(items, a.String())
		}
	}
	p.woken = nil
	slices.Sort(named)
	return append(named, gets(len(items), list(sorted(items))), gets(told, toldOfShutdown))
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
