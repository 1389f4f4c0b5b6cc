package traces

import "github.com/shardq/shardq"

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
