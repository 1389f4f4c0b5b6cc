package traces

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// drainReturns is the outcome of a drain that returns no error.
const drainReturns = "returns"

// drainManners has the options of a Drain by its manner.
var drainManners = map[string]shardq.DrainOptions{
	"dropping": {Delayed: shardq.DropDelayed}, "running": {Delayed: shardq.RunDelayed},
	"awaiting": {Delayed: shardq.AwaitDelayed}, "retrying": {Retries: shardq.AcceptRetries},
}

// drain reports whether ShutDownWithDrain returns at once, or Drain if it has a
// manner. If it does not, its return is an event of a later command.
func (p *player) drain(c *command) string {
	w := newConsumer(c.worker, "with context")
	w.role = ending
	options, has := drainManners[c.manner]
	p.start(w, func() arrival {
		if !has {
			p.queue.ShutDownWithDrain()
			return arrival{worker: w, reason: drainReturns}
		}
		dropped, err := p.queue.Drain(w.context, options)
		return arrival{worker: w, reason: describeDrain(dropped, err)}
	})
	if a, ok := p.returned(w); ok {
		return a.reason
	}
	return "waits"
}

// describeDrain describes the results of a Drain.
func describeDrain(dropped []string, err error) string {
	text := drainReturns
	var left *shardq.DrainError[string]
	switch {
	case errors.As(err, &left):
		text = describeCause(left) + " and leaves " + describeLeft(left)
	case err != nil:
		text = err.Error()
	}
	if len(dropped) > 0 {
		text += ", dropped " + list(sorted(namesOf(dropped)))
	}
	return text
}

func describeCause(left *shardq.DrainError[string]) string {
	if errors.Is(left, shardq.ErrShutDown) {
		return "is ended by a shutdown" + inQueue(left.Queue)
	}
	return isCanceled + inQueue(left.Queue)
}

// describeLeft names the items that a drain left, state by state. Where their
// number is not that of the DrainError, it says so.
func describeLeft(left *shardq.DrainError[string]) string {
	names := map[stats.State][]string{}
	for _, i := range left.Left() {
		names[i.State] = append(names[i.State], nameOf(i.Item))
	}
	var words []string
	for _, part := range []struct {
		state stats.State
		n     int
	}{{stats.Processing, left.Processing}, {stats.Ready, left.Ready}, {stats.Delayed, left.Delayed}} {
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
