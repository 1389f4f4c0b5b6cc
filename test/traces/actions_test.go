package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardq/shardq"
)

func (p *player) add(c *command) string {
	switch c.manner {
	case "batch":
		p.queue.addBatch(c.items)
		return ""
	case "batch after":
		p.queue.addBatchAfter(c.items, c.options.After)
		return ""
	case "with context", "with ended context":
		return p.addContext(c)
	}
	for _, item := range c.items {
		switch c.manner {
		case "after":
			p.queue.addAfter(item, c.options.After)
		case "rate-limited":
			p.queue.addRateLimited(item)
		case "with options":
			p.queue.addWith(item, c.options)
		default:
			p.queue.add(item)
		}
	}
	return ""
}

func (p *player) done(c *command) string {
	if c.manner == "batch" {
		p.queue.doneBatch(c.items)
		return ""
	}
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
	start := p.startGet
	if c.manner == "batch" {
		start = func(w *consumer) { p.startBatch(w, c.count) }
	}
	return p.seek(c.count, newConsumer(c.worker, c.manner), start)
}

// refuseIfOpen refuses a call for n items if the contract does not say which
// items they are.
func (p *player) refuseIfOpen(n int) {
	if ready := p.queue.len(); ready > max(n, 1) && !p.scenario.ordered() {
		p.fault = fmt.Errorf("which item Get returns is open: say get all, or which items are together")
	}
}

// seek lets a worker make a call for n items, and returns the result.
func (p *player) seek(n int, w *consumer, start func(w *consumer)) string {
	if p.refuseIfOpen(n); p.fault != nil {
		return ""
	}
	start(w)
	if a, ok := p.returned(w); ok {
		return a.String()
	}
	p.hide()
	return parks
}

// takeAll gets as many items as Len returns. It sets doubt if there are fewer.
func (p *player) takeAll() []string {
	var items []string
	for range p.queue.len() {
		w := &consumer{}
		p.startGet(w)
		a, ok := p.returned(w)
		if !ok || a.reason != "" {
			p.doubt = "(Len says that there is more)"
			return items
		}
		items = append(items, a.items...)
	}
	return items
}

// await gets items in one goroutine, until it has the awaited one.
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

// cancel ends the context of a worker, or cancels an item.
func (p *player) cancel(c *command) string {
	if c.worker == "" {
		return describeCanceled(p.queue.cancel(c.items[0]))
	}
	for _, w := range slices.Concat(p.away[:]...) {
		if w.name == c.worker && w.cancel != nil {
			w.cancel()
			return ""
		}
	}
	p.fault = fmt.Errorf("worker %s does not wait in a call with a context", c.worker)
	return ""
}

// describeCanceled names the adds that a Cancel took back.
func describeCanceled(was shardq.Canceled) string {
	var words []string
	for _, part := range []struct {
		was  bool
		word string
	}{{was.Ready, "ready"}, {was.Dirty, "dirty"}, {was.Delayed, "delayed"}} {
		if part.was {
			words = append(words, part.word)
		}
	}
	return strings.Join(words, ", ")
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

// timers describes the timers that the queue has set.
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

// without returns names without those in others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
