package traces

import "github.com/shardq/shardq"

// What TryAdd and AddContext say.
const takenIn = "is taken in"

var refusals = map[error]string{
	shardq.ErrFull:     "full",
	shardq.ErrRejected: "rejected",
	shardq.ErrShutDown: toldOfShutdown,
}

func (p *player) tryAdd(c *command) string { return p.queue.tryAdd(c.items[0]) }

// addWaiting lets a worker call AddContext, which may wait for room.
func (p *player) addWaiting(c *command) string {
	w := newWorker(c.worker, c.manner)
	w.role = adding
	p.start(w, func() arrival { return arrival{worker: w, reason: p.queue.addContext(w.context, c.items[0])} })
	if a, ok := p.returned(w); ok {
		return a.reason
	}
	return "waits"
}

// emptyLine lets nobody wait for room any more, so that nobody is let in by a look.
func (p *player) emptyLine() {
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
