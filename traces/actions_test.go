package traces

import (
	"fmt"
	"slices"
	"strconv"
)

func (p *player) add(c *command) string {
	for _, item := range c.items {
		switch c.manner {
		case "after":
			p.queue.addAfter(item, c.duration)
		case "rate-limited":
			p.queue.addRateLimited(item)
		default:
			p.queue.add(item)
		}
	}
	return ""
}

func (p *player) done(c *command) string {
	for _, item := range c.items {
		p.queue.done(item)
	}
	return ""
}

func (p *player) forget(c *command) string {
	for _, item := range c.items {
		p.queue.forget(item)
	}
	return ""
}

func (p *player) requeues(c *command) string { return strconv.Itoa(p.queue.requeues(c.items[0])) }

func (p *player) when(c *command) string { return formatDuration(p.queue.when(c.items[0])) }

func (p *player) get(c *command) string {
	if c.manner == "all" {
		return list(p.takeAll()) + p.doubt
	}
	if p.queue.len() > 1 && !p.scenario.ordered() {
		p.fault = fmt.Errorf("which item Get returns is open: say get all, or which items are together")
		return ""
	}
	w := newWorker(c.worker, c.manner)
	p.start(w)
	if a, ok := p.returned(w); ok {
		return a.String()
	}
	p.hide()
	return "sleeps"
}

// takeAll gets as many items as Len says there are, and has its doubts if there are less.
func (p *player) takeAll() []string {
	var items []string
	for range p.queue.len() {
		w := &worker{}
		p.start(w)
		a, ok := p.returned(w)
		if !ok || a.reason != "" {
			p.doubt = "(Len says that there is more)"
			return items
		}
		items = append(items, a.item)
	}
	return items
}

// await gets items, all in one goroutine, until it has the one that is awaited.
func (p *player) await(c *command) string {
	result := make(chan string, 1)
	go func() {
		for range min(c.count, p.queue.len()) {
			if item, _ := p.queue.get(); item == c.items[0] {
				result <- "handed out"
				return
			}
		}
		result <- "not handed out"
	}()
	return <-result
}

func (p *player) cancel(c *command) string {
	for _, w := range p.asleep {
		if w.name == c.worker && w.cancel != nil {
			w.cancel()
			return ""
		}
	}
	p.fault = fmt.Errorf("worker %s does not sleep in a get with context", c.worker)
	return ""
}

func (p *player) len(*command) string          { return strconv.Itoa(p.queue.len()) }
func (p *player) name(*command) string         { return p.queue.name() }
func (p *player) shuttingDown(*command) string { return yesNo(p.queue.shuttingDown()) }

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

func (p *player) step(c *command) string {
	p.time.step(c.duration)
	return ""
}

func (p *player) shutDown(*command) string {
	p.queue.shutDown()
	return ""
}

// drain says whether ShutDownWithDrain returns at once. If it does not, its return is an
// event of the command that brings it about.
func (p *player) drain(*command) string {
	p.draining++
	go func() {
		p.queue.shutDownWithDrain()
		p.drained <- struct{}{}
	}()
	p.settle()
	if len(p.drained) == 0 {
		return "waits"
	}
	<-p.drained
	p.draining--
	return "returns"
}

// timers says what the queue has arranged with the clock.
func (p *player) timers(*command) string {
	fake := p.time.(fakeTimeline)
	next, ok := fake.Next()
	switch {
	case !ok:
		return "none"
	case fake.Timers() > 1:
		return fmt.Sprintf("%d, the next in %s", fake.Timers(), formatDuration(next))
	}
	return "one, in " + formatDuration(next)
}

func (p *player) breakPiece(c *command) string {
	p.userCode.broken[c.part] = true
	return ""
}

func (p *player) mendPiece(c *command) string {
	if !p.userCode.broken[c.part] {
		p.fault = fmt.Errorf("the %s is not broken", c.part)
	}
	delete(p.userCode.broken, c.part)
	return ""
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
