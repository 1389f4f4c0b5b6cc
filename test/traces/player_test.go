package traces

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing/synctest"

	"github.com/shardq/shardq/stats"
)

// A player carries out the commands of a scenario on a queue of its own. It
// runs in a testing/synctest bubble. A call is blocked if all goroutines of the
// bubble are at rest and it has not returned. No test waits for a duration.
type player struct {
	scenario *scenario
	queue    namedQueue
	time     timeline
	userCode *userCode

	arrivals   chan arrival  // from workers
	drained    chan struct{} // from drains
	away       [roles][]*consumer
	loops      []*consumer
	woken      []arrival
	draining   int
	ended      int              // drains that have returned without an error
	reports    []string         // of the hooks
	claims     map[string]claim // under mu, because workers name their own
	below      []string         // the lines below the command
	doubt      string           // not empty if the queue contradicts itself
	mu         sync.Mutex
	stuckItems []stats.Item[string] // under mu: the hook is called by a timer
	// fault is a fault of the scenario itself.
	fault error
}

// newPlayer returns a player with a new queue that has the settings of the
// scenario.
func newPlayer(s *scenario, l layout) *player {
	p := &player{
		scenario: s,
		arrivals: make(chan arrival, maxArrivals),
		drained:  make(chan struct{}, maxArrivals),
		time:     l.timeline(),
		claims:   map[string]claim{},
	}
	p.userCode = &userCode{use: p.use, broken: map[string]bool{}}
	p.queue, p.fault = s.settings.kind.open(&s.settings, p.machinery(l))
	if l.spoil != nil {
		p.queue = l.spoil(p.queue)
	}
	return p
}

// use calls the queue from user code.
func (p *player) use() {
	if p.queue != nil { // New calls the clock before there is a queue
		p.queue.stats()
	}
}

// machinery returns the hooks and the clock for the queue.
func (p *player) machinery(l layout) *machinery {
	m := &machinery{
		shards:   l.shards,
		clock:    p.time.clock(),
		misused:  p.misused,
		marked:   p.watermark,
		stuck:    p.stuck,
		userCode: p.userCode,
	}
	if p.scenario.breaks("clock") {
		m.clock = userClock{m.clock, p.userCode}
	}
	if p.scenario.breaks("hash") || len(p.scenario.settings.together) > 0 {
		m.route = p.route
	}
	return m
}

// route is the hash function of scenarios that need one.
func (p *player) route(name string) uint64 {
	p.userCode.called("hash")
	return uint64(p.scenario.groups[name])
}

// misused is the misuse hook.
func (p *player) misused(queue string, kind stats.MisuseKind, name string) {
	p.userCode.called("hook")
	p.reports = append(p.reports, fmt.Sprintf("misuse%s: %s: %s", inQueue(queue), kind, name))
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
	for len(p.drained) > 0 {
		<-p.drained
		p.draining--
		p.ended++
	}
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
	if given && p.queue.len() > 0 && !p.scenario.ordered() {
		p.fault = fmt.Errorf("which item the worker gets is open: say which are together")
	}
}

// finish ends all goroutines of the bubble.
func (p *player) finish() {
	clear(p.userCode.broken)
	p.queue.end()
	if p.scenario.settings.groups { // or a consumer may wait for throttled items
		for _, item := range p.scenario.items {
			p.queue.cancel(item)
		}
	}
	p.endLoops()
	synctest.Wait()
}
