package traces

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardq/shardq"
)

// drain says whether ShutDownWithDrain returns at once. If it does not, its return is an
// event of the command that brings it about.
func (p *player) drain(c *command) string {
	if c.manner != "" {
		return p.drainWaiting(c)
	}
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
	return drainReturns
}

// drainReturns is what comes of a drain that has nothing to say.
const drainReturns = "returns"

// drainManners are the options of a Drain.
var drainManners = map[string]shardq.DrainOptions{
	"dropping": {Waiting: shardq.DropWaiting},
	"running":  {Waiting: shardq.RunWaiting},
	"awaiting": {Waiting: shardq.AwaitWaiting},
	"retrying": {Retries: shardq.TakeRetries},
}

// drainWaiting is drain with Drain, and a policy.
func (p *player) drainWaiting(c *command) string {
	w := newWorker(c.worker, "with context")
	w.role = ending
	options := drainManners[c.manner]
	p.start(w, func() arrival {
		dropped, err := p.queue.drain(w.context, options)
		return arrival{worker: w, reason: describeDrain(dropped, err)}
	})
	if a, ok := p.returned(w); ok {
		return a.reason
	}
	return "waits"
}

// describeDrain says what a Drain returned.
func describeDrain(dropped []string, err error) string {
	text := drainReturns
	var left *leftOver
	switch {
	case errors.As(err, &left):
		text = describeCause(left) + " and leaves " + describeLeft(left)
	case err != nil:
		text = err.Error()
	}
	if len(dropped) > 0 {
		text += ", dropped " + list(sorted(dropped))
	}
	return text
}

func describeCause(left *leftOver) string {
	if errors.Is(left, shardq.ErrShutDown) {
		return "is told of a shutdown" + inQueue(left.queue)
	}
	return givesUp + inQueue(left.queue)
}

// describeLeft names the items that were left, state by state, and their number where it
// is not that of the items.
func describeLeft(left *leftOver) string {
	names := map[shardq.ItemState][]string{}
	for _, i := range left.items {
		names[i.State] = append(names[i.State], i.Item)
	}
	var words []string
	for _, part := range []struct {
		state shardq.ItemState
		n     int
	}{{shardq.Processing, left.processing}, {shardq.Ready, left.ready}, {shardq.Waiting, left.waiting}} {
		items := names[part.state]
		if len(items) != part.n {
			words = append(words, fmt.Sprintf("%d %v, of which it knows", part.n, part.state))
		}
		if len(items) > 0 {
			words = append(words, list(sorted(items))+" "+part.state.String())
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// leftOver is a DrainError in terms of names.
type leftOver struct {
	error
	queue                      string
	items                      []shardq.ItemInfo[string]
	ready, processing, waiting int
}

func (l *leftOver) Unwrap() error { return l.error }
