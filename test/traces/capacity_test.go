package traces

import "github.com/shardq/shardq"

// These are the outcomes of TryAdd and AddContext.
const admitted = "is admitted"

var refusals = map[error]string{
	shardq.ErrFull:     "full",
	shardq.ErrRejected: "rejected",
	shardq.ErrShutDown: shutDown,
}

func (p *player) tryAdd(c *command) string { return p.queue.tryAdd(c.items[0]) }

// addContext lets a worker call AddContext, which may wait for capacity.
func (p *player) addContext(c *command) string {
	w := newConsumer(c.worker, c.manner)
	w.role = adding
	p.start(w, func() arrival { return arrival{worker: w, reason: p.queue.addContext(w.context, c.items[0])} })
	if a, ok := p.returned(w); ok {
		return a.reason
	}
	return "waits"
}

// cancelWaiters cancels all waiters of AddContext, so that taking the queue
// apart admits none of them.
func (p *player) cancelWaiters() {
	for _, w := range p.away[adding] {
		w.cancel()
	}
	p.settle()
	p.woken = nil
}

// watermark is the watermark hook.
func (p *player) watermark(mark shardq.Watermark) {
	p.userCode.called("hook")
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
