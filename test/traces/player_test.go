package traces

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing/synctest"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A player carries out the commands of a scenario on a queue of its own. It
// runs in a testing/synctest bubble. A call is blocked if all goroutines of the
// bubble are at rest and it has not returned. No test waits for a duration.
type player struct {
	scenario *scenario
	queue    *shardq.Queue[string]
	time     timeline

	arrivals   chan arrival // from workers
	away       [roles][]*consumer
	loops      []*consumer
	woken      []arrival
	ended      int              // drains that have returned without an error
	reports    []string         // of the hooks
	claims     map[string]claim // under mu, because workers name their own
	below      []string         // the lines below the command
	mu         sync.Mutex
	stuckItems []stats.Item[string] // under mu: the hook is called by a timer
	// fault is a fault of the scenario itself.
	fault error
}

// newPlayer returns a player with a new queue that has the settings of the
// scenario.
func newPlayer(s *scenario, l layout) *player {
	p := &player{
		scenario: s, time: l.timeline(), claims: map[string]claim{}, arrivals: make(chan arrival, maxArrivals),
	}
	p.queue, p.fault = p.open(l)
	return p
}

// carryOut runs a command as often as it says, and returns the last outcome.
func (p *player) carryOut(c *command) outcome {
	var result string
	for range c.times {
		p.below = nil
		result = join(append([]string{p.try(c.run, c)}, p.events()...))
	}
	return append(outcome{result}, p.below...)
}

// try runs a command once, and returns the immediate result, or the panic.
func (p *player) try(run func(*player, *command) string, c *command) (result string) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case runtime.Error:
			result = "panics"
		default:
			result = fmt.Sprintf("panics: %v", value)
		}
	}()
	return run(p, c)
}

// events returns what else happened.
func (p *player) events() []string {
	p.settle()
	p.checkOrder()
	events := slices.Concat(p.reports, p.stuckReports(), p.wakeUps())
	p.reports = nil
	if n := p.ended; n > 0 {
		p.ended = 0
		events = append(events, number(n, "drain")+verbFor(n, " returns", " return"))
	}
	return events
}

// checkOrder refuses a scenario that depends on what the contract leaves open:
// which of several ready items a worker gets, if their order is not strict.
func (p *player) checkOrder() {
	given := slices.ContainsFunc(p.woken, func(a arrival) bool { return len(a.items) > 0 })
	if given && p.queue.Len() > 0 && !p.scenario.ordered() {
		p.fault = fmt.Errorf("which item the worker gets is open: say which are together")
	}
}

// finish ends all goroutines of the bubble.
func (p *player) finish() {
	p.queue.SetRate(shardq.Rate{})
	p.queue.ShutDown()
	if p.scenario.settings.groups { // or a consumer may wait for throttled items
		for _, item := range p.scenario.items {
			p.queue.Cancel(itemOf(item))
		}
	}
	p.endLoops()
	synctest.Wait()
}
