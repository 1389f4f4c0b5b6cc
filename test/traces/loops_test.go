package traces

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
)

// leaves is the outcome of a loop that ends.
const leaves = "leaves its loop"

// loop lets a worker range over Items. At each item, the worker waits for the
// way in which its turn ends.
func (p *player) loop(c *command) string {
	w := newConsumer(c.worker, "with context")
	w.turns = make(chan string)
	p.loops = append(p.loops, w)
	p.start(w, func() (end arrival) {
		// A turn that panics, or calls Goexit, ends here.
		end = arrival{worker: w, reason: leaves}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }()
			p.rangeOver(w)
		}()
		<-ended
		return end
	})
	return p.whereLoopIs(w)
}

func (p *player) rangeOver(w *consumer) {
	for item := range p.queue.Items(w.context) {
		p.arrivals <- arrival{worker: w, items: []string{nameOf(item)}}
		switch <-w.turns {
		case "next":
			continue
		case "return":
			return
		case "panic":
			panic("on purpose")
		case "Goexit":
			runtime.Goexit()
		}
		break
	}
}

// turn ends the turn of a worker's loop.
func (p *player) turn(c *command) string {
	i := slices.IndexFunc(p.loops, func(w *consumer) bool { return w.name == c.worker })
	if i < 0 || slices.Contains(p.away[getting], p.loops[i]) {
		p.fault = fmt.Errorf("worker %s is at no item of a loop", c.worker)
		return ""
	}
	w := p.loops[i]
	p.away[getting] = append(p.away[getting], w)
	w.turns <- cmp.Or(c.manner, c.verb)
	return p.whereLoopIs(w)
}

// whereLoopIs returns the item of the loop, or that it has parked or ended.
func (p *player) whereLoopIs(w *consumer) string {
	a, ok := p.returned(w)
	if !ok {
		p.hide()
		return parks
	}
	if a.reason == leaves {
		p.loops = slices.DeleteFunc(p.loops, func(other *consumer) bool { return other == w })
	}
	return a.String()
}

// endLoops ends all loops.
func (p *player) endLoops() {
	for _, w := range p.loops {
		w.cancel()
		close(w.turns)
	}
}
