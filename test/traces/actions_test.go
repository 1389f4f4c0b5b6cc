package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

func (p *player) add(c *command) string {
	switch c.manner {
	case "batch":
		p.queue.AddBatch(itemsOf(c.items), c.options)
		return ""
	case "with context", "with ended context":
		return p.addContext(c)
	}
	for _, item := range c.items {
		switch c.manner {
		case "after":
			p.queue.AddAfter(itemOf(item), c.options.After)
		case "rate-limited":
			p.queue.AddRateLimited(itemOf(item))
		case "with options":
			p.queue.AddWith(itemOf(item), c.options)
		default:
			p.queue.Add(itemOf(item))
		}
	}
	return ""
}

func (p *player) done(c *command) string {
	for _, item := range c.items {
		p.queue.Done(itemOf(item))
	}
	return ""
}

func (p *player) forget(c *command) string {
	for _, item := range c.items {
		p.queue.Forget(itemOf(item))
	}
	return ""
}

func (p *player) requeues(c *command) string {
	return strconv.Itoa(p.queue.NumRequeues(itemOf(c.items[0])))
}

func (p *player) get(c *command) string {
	if c.manner == "all" {
		return list(p.takeAll())
	}
	return p.seek(1, newConsumer(c.worker, c.manner), p.startGet)
}

// refuseIfOpen refuses a call for n items if the contract does not say which
// items they are.
func (p *player) refuseIfOpen(n int) {
	if ready := p.queue.Len(); ready > max(n, 1) && !p.scenario.ordered() {
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

// takeAll gets as many items as Len returns.
func (p *player) takeAll() []string {
	var items []string
	for range p.queue.Len() {
		w := &consumer{}
		p.startGet(w)
		a, ok := p.returned(w)
		if !ok || a.reason != "" {
			return append(items, "(Len says that there is more)")
		}
		items = append(items, a.items...)
	}
	return items
}

// await gets items in one goroutine, until it has the awaited one.
func (p *player) await(c *command) string {
	result := make(chan string, 1)
	go func() {
		for range min(c.count, p.queue.Len()) {
			if item, _ := p.queue.Get(); item == c.items[0] {
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
		return describeCanceled(p.queue.Cancel(itemOf(c.items[0])))
	}
	for _, w := range slices.Concat(slices.Concat(p.away[:]...), p.loops) {
		if w.name == c.worker && w.cancel != nil {
			w.cancel()
			return ""
		}
	}
	p.fault = fmt.Errorf("worker %s is in no call with a context", c.worker)
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

func (p *player) len(*command) string          { return strconv.Itoa(p.queue.Len()) }
func (p *player) name(*command) string         { return p.queue.Name() }
func (p *player) shuttingDown(*command) string { return yesNo(p.queue.ShuttingDown()) }

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
	p.queue.ShutDown()
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

func (p *player) pause(c *command) string {
	switch {
	case c.part == "":
		p.queue.Pause()
	case c.duration == 0:
		p.queue.PauseGroup(c.part, time.Time{})
	default:
		p.queue.PauseGroup(c.part, p.time.now().Add(c.duration))
	}
	return ""
}

func (p *player) resume(c *command) string {
	if c.part == "" {
		p.queue.Resume()
	} else {
		p.queue.ResumeGroup(c.part)
	}
	return ""
}

// setRate sets the rate of the queue, or what the user says of a group.
func (p *player) setRate(c *command) string {
	if c.part == "" {
		p.queue.SetRate(c.rate)
		return ""
	}
	p.scenario.settings.groupRates[c.part] = c.rate
	p.queue.RefreshGroup(c.part)
	return ""
}

func (p *player) tryAdd(c *command) string {
	return describeAdd(p.queue.TryAdd(itemOf(c.items[0]), c.options))
}

// addContext lets a worker call AddContext, which may wait for capacity.
func (p *player) addContext(c *command) string {
	w := newConsumer(c.worker, c.manner)
	w.role = adding
	p.start(w, func() arrival {
		return arrival{worker: w, reason: describeAdd(p.queue.AddContext(w.context, itemOf(c.items[0]), shardq.AddOptions{}))}
	})
	if a, ok := p.returned(w); ok {
		return a.reason
	}
	return "waits"
}

// watermark is the watermark hook.
func (p *player) watermark(mark shardq.Watermark) {
	text := "watermark" + inQueue(mark.Queue) + ": low"
	if mark.High {
		text = "watermark" + inQueue(mark.Queue) + ": high"
	}
	p.reports = append(p.reports, text)
}

func inQueue(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}
