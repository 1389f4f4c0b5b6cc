package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// TestQueueBehavesAsItsModel compares the queue with the model in random
// programs. This runs more and longer ones:
//
//	go test -run TestQueueBehavesAsItsModel -rapid.checks=10000 -rapid.steps=200
func TestQueueBehavesAsItsModel(t *testing.T) {
	few := func(s setup) { s['s'], s['r'] = 1+s['p']%3, 0 } // shards, by Hash
	more := func(s setup) { s['s'], s['r'] = 1+s['p']%4, 2*(s['p']%2) }
	grouped := func(s setup) { s['s'], s['r'] = s['s']%2, 1 }
	for _, v := range []struct {
		name    string
		checks  int
		setting func(s setup)
		drawing
	}{
		{"one shard", 1500, func(s setup) { s['s'] = 0 }, drawing{}},
		{"any", 1500, func(setup) {}, drawing{}},
		{"groups", 1500, grouped, drawing{}},
		{"waits", 1000, grouped, drawing{kinds: "QQQQoohyyAAAAVMkkkttdddrqaKGGnnnnSPpz", lastItem: 'p'}},
		{"parked", 1200, few, drawing{kinds: "AAAVVMMMGGCIkkllltdddeefffaarRKNPpBnnn!!"}},
		{"at once", 1500, few, drawing{kinds: "+++++AAWRTKNDddderrqaPpzzMfGGCkUnn", largest: '2'}},
		{"low priorities", 200, few, drawing{kinds: "VVVVVMMKKTtttkCBBdddernnGp"}},
		{"pauses", 3000, func(s setup) { s['s'], s['r'], s['x'] = 0, 1, 0 }, drawing{kinds: "QQQQQQQQQQoAn", lastItem: 'y', delays: true}},
		{"ranks", 400, func(s setup) { s['s'], s['r'], s['q'] = 0, 0, 0 }, drawing{kinds: "VVVVVVVVVKKttddn", lastPriority: '0' + 23}},
		{"room", 1000, func(s setup) { s['x'], s['C'] = 1, 1+s['C']%2 }, drawing{kinds: "UUUUUUAATyy!!!!!!!!dddeeekkkzvMKnnc"}},
		{"drains", 1500, func(s setup) { s['c'], s['t'], s['x'] = 1+s['c']%2, 2*(s['t']%2), 0 }, drawing{kinds: "AAAAWVZZZZzzzPpQohkdnXuww"}},
		{"sweeps", 300, more, drawing{kinds: "MMMMVZZZlfnn", largest: '8', delays: true}},
		{"levels", 400, func(s setup) { s['s'], s['r'] = s['p']%2, 0 }, drawing{kinds: "VVVVVVVVVMKKKTttttkBdddernn", lastItem: 'p', lastPriority: ';'}},
		{"blocks", 250, more, drawing{kinds: "AVMMMMMMMGkkllllldefffffKnnPpZ", largest: '8'}},
	} {
		t.Run(v.name, func(t *testing.T) {
			testscale.Rapid(v.checks)
			drawn := kinds(v.kinds)
			rapid.Check(t, func(rt *rapid.T) {
				rapid.SyncTest(rt, func(rt *rapid.T) {
					s := setups.Draw(rt, "setup")
					v.setting(s)
					p := newPlayer(rt, s)
					defer p.release()
					for range 3 {
						rt.Repeat(map[string]func(*rapid.T){
							"call": func(rt *rapid.T) { p.play(v.draw(rt, drawn)) },
						})
					}
					p.finish()
				})
			})
		})
	}
}

// FuzzQueue reads its input as a program, and plays it on a queue and on the
// model. This prints one, a call in each line:
//
//	go test -run FuzzQueue/NAME -v .
func FuzzQueue(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		synctest.Test(t, func(t *testing.T) {
			read := parseProgram(text)
			p := newPlayer(t, read.setup)
			defer p.release()
			for _, c := range read.calls[:min(len(read.calls), 300)] {
				p.play(c)
			}
			p.finish()
			if testing.Verbose() {
				t.Log(p.story())
			}
		})
	})
}

// A player makes the calls of a program on a queue and on its model. At the
// first difference the test fails, and prints the program up to there. It must
// be used in a synctest bubble. After each call it waits until all goroutines
// are blocked. So any number of consumers can be parked in Get.
type player[T comparable] struct {
	failer
	setup   setup
	played  []call
	lines   []string // in Go, see write
	settled int      // how many of them were there after the latest call
	counts  string   // the latest that were written
	// chance says that chance may decide what happens in this step.
	chance bool
	// joined are calls to be made at once, as many more as joining says. results
	// are those of such calls.
	joined        []action
	joinedLetters string
	joining       int
	results       []result
	names         int  // how many contexts and slices have names in Go
	trying        bool // a model that may be wrong
	failed        bool
	// hurried says that a Get was called and the next call must meet it: the
	// player did not wait until the Get parked.
	hurried bool
	// setBack says that the clock was set back, so that ages are unknown.
	setBack bool
	// shared says that so many calls were made in a tick that they may have
	// shared readings of the clock, and inTick counts them.
	shared bool
	inTick int

	queue *shardq.Queue[T]
	model *model
	clock clock.Clock
	began time.Time
	tick  time.Duration

	faults   faults
	armed    bool // a function panics during the next call
	function string
	closed   bool // the last check found the queue closed
	// panicked says that it did, and that the results are what the call may have done.
	panicked bool
	whole    func(m *model) any

	held   []string // in the order of their Gets
	taking bool     // a consumer has got an item since the last call
	takers []*consumer[T]
	// ambiguous says that several consumers got items at once, of groups, from several
	// shards by their priorities, or with a LowPriorityInterval. There may have been
	// more than one order, with other turns afterwards.
	ambiguous bool
	// spread says that consumers may have got items while the call went on.
	spread bool
	claims []keptClaim[T]
	fences map[string]uint64
	parked []*consumer[T]
	stuck  map[string]bool // those that OnStuck was called for

	mu       sync.Mutex // guards what hooks and other goroutines write
	outcomes []*consumer[T]
	misused  []shardq.Misuse[T]
	marks    []bool
	reports  []stuckReport
	adds     []stats.Add[string]
}

// A playing is a player of items of a type.
type playing interface {
	play(c call)
	finish()
	release()
	story() string
}

func newPlayer(t failer, s setup) playing {
	if s.is("faults", "yes") {
		s['a'] %= 2 // a call that panics may count in the metrics
	}
	switch stable := s.is("routing", "stable"); {
	case s.is("items", "interfaces") && !stable:
		return playerOf[any](t, s)
	case s.is("items", "pointers") && !stable:
		return playerOf[*string](t, s)
	}
	return playerOf[string](t, s)
}

// failer is the part of testing.T and rapid.T that a player needs.
type failer interface {
	Fatalf(format string, arguments ...any)
}

const queueName = "the queue"

func playerOf[T comparable](t failer, s setup) *player[T] {
	p := &player[T]{failer: t, setup: s, clock: clock.Real(), fences: map[string]uint64{}, stuck: map[string]bool{}}
	switch s.value("clock") {
	case "fake":
		p.clock = newFake()
	case "wall":
		p.clock = clock.Wall()
	}
	p.began = p.clock.Now()
	p.tick, _ = time.ParseDuration(s.value("tick"))
	p.model = newModel(s, p.tick, p.shardOf, p.shardOfGroup)
	p.model.began = p.began
	p.queue = engine.Follow(shardq.MustNew(p.options()), p.setup.rules())
	p.faults.look = func() { p.queue.Stats() }
	return p
}

// rules translates the settings that only adapters have.
func (s setup) rules() shard.Rules {
	return shard.Rules{
		PrioritiesBeforeTurns: s.is("priorities before turns", "yes"),
		CancelDelayOnAdd:      s.is("cancel delay on add", "yes"),
		DropDelayIfReady:      s.is("drop delay if ready", "yes"),
		KeepPlaces:            s.is("keep places", "yes"),
		DiscardOnShutDown:     s.is("discard on shutdown", "yes"),
	}
}

// options translates the other settings. All that is not everyday is here, so that a
// change of the options has one place.
func (p *player[T]) options() shardq.Options[T] {
	s, user := p.setup, p.user
	o := shardq.Options[T]{
		Name: queueName, Shards: s.number("shards"), Tick: p.tick, Clock: p.clock,
		RateLimiter:         limiter.NewExponential[T](leastBackoff, mostBackoff),
		Rate:                rates[s.number("rate")],
		LowPriorityInterval: s.number("low priority interval"),
		Capacity:            s.number("capacity"),
		KeepBackoff:         s.is("keep backoff", "yes"),
		Ages:                s.is("ages", "ages"), Metrics: s.is("ages", "metrics"),
		StableRouting: s.is("routing", "stable"),
		OnMisuse: func(m shardq.Misuse[T]) {
			p.locked(func() { p.misused = append(p.misused, m) })
			user("OnMisuse")
		},
	}
	if p.hasFaults() {
		o.RateLimiter = hookedLimiter[T]{o.RateLimiter, user}
		if fake, is := o.Clock.(*clock.Fake); is {
			o.Clock = hookedClock{fake, user}
		}
	}
	switch s.value("routing") {
	case "hash":
		o.Hash = func(item T) uint64 { user("Hash"); return hashOf(item) }
	case "group":
		for i, group := range groups {
			p.model.policy[group] = p.firstPolicy(i)
		}
		o.Group = func(item T) string { user("Group"); return groupOf(item) }
		o.GroupPolicy = func(group string) shardq.GroupPolicy {
			user("GroupPolicy")
			return groupPolicies[p.model.policy[group]]
		}
	}
	if low, high := p.watermarks(); high > 0 {
		o.Watermarks = shardq.Watermarks{Low: low, High: high, On: func(mark shardq.Watermark) {
			p.locked(func() { p.marks = append(p.marks, mark.High) })
			user("OnWatermark")
		}}
	}
	if after := s.number("stuck after"); after > 0 {
		o.StuckAfter = time.Duration(after) * p.tick
		o.OnStuck = func(info stats.Item[T]) {
			p.locked(func() { p.reports = append(p.reports, stuckReport{rowOf(info), p.clock.Now().Sub(p.began)}) })
		}
	}
	if s.is("on add", "yes") {
		o.OnAdd = func(a stats.Add[T]) {
			p.locked(func() { p.adds = append(p.adds, addOf(a)) })
			user("OnAdd")
		}
	}
	return o
}

var groups = []string{"x", "y", "z"}

// firstPolicy returns the number of the policy that a group has at first.
func (p *player[T]) firstPolicy(group int) int {
	if n := p.setup.number("policies"); n > 0 {
		return (group + n) % len(groupPolicies)
	}
	return 0
}

func (p *player[T]) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *player[T]) watermarks() (low, high int) {
	_, _ = fmt.Sscan(p.setup.value("watermarks"), &low, &high)
	return low, high
}

func (p *player[T]) hasAges() bool {
	return !p.setup.is("ages", "none") || p.setup.number("stuck after") > 0
}

func (p *player[T]) shardOf(item string) int {
	row, held := p.lookup(item)
	if !held && len(p.results) > 0 {
		return -1 // it came and went
	}
	if !held {
		p.differs(code("results(q.Lookup(%s))[1]", p.literal(itemOf[T](item))), true, "%s is not held (C65)", item)
	}
	return row.Shard
}

func (p *player[T]) shardOfGroup(group string) int {
	for row := range p.queue.Groups() {
		if row.Group == group {
			return row.Shard
		}
	}
	if !p.panicked && len(p.results) == 0 { // otherwise it may have come and gone
		p.fatalf("group %s is not known", group)
	}
	return -1
}

func (p *player[T]) play(c call) {
	defer p.failAtPanic()
	p.played = append(p.played, c)
	if c.letter == '+' || c.letter == 'B' {
		p.disarm()
	}
	switch {
	case p.join(c):
		if p.joining > 0 {
			return
		}
		p.playJoined()
	case c.letter == '+':
		p.playJoined()
		synctest.Wait()
		p.hurried = false
		p.settle()
		if long := slices.ContainsFunc(p.parked, func(s *consumer[T]) bool { return s.next != nil || s.size > 3 }); !long && len(p.model.bounds.waiters) == 0 && !p.model.keepsPlaces() {
			p.joining = 2 + modulo(c.number(), 2)
		}
	case c.letter == '!':
		p.playJoined()
		synctest.Wait()
		p.armFor(c)
		return
	case c.letter == 'B':
		p.playJoined()
		p.cycle(8 * modulo(c.number(), 10))
	default:
		p.playJoined()
		p.perform(c)
	}
	if !p.hurried {
		p.check()
	}
	p.settled, p.chance = len(p.lines), p.hurried
}

func (p *player[T]) perform(c call) {
	if p.hurried && (c.letter == 'S' || c.letter == 'n') {
		synctest.Wait() // or the age of the item would be that of either moment
	}
	p.hurried = false
	p.inTick += 4 + c.size() + len(p.parked)
	p.shared = p.shared || p.inTick > 200
	p.spread = p.spreads(string(c.letter))
	if p.do(c); !p.hurried {
		p.settle()
	}
}

// spreads reports whether parked consumers may get items while one of some calls
// goes on from shard to shard.
func (p *player[T]) spreads(letters string) bool {
	return strings.ContainsAny(letters, "MfZX") && len(p.parked) > 0 && p.model.counts.Shards > 1
}

// cycle takes one item after the other, adds it again as it was, and ends its
// processing, so that others wait.
func (p *player[T]) cycle(times int) {
	for range times {
		before := len(p.held)
		if !p.model.mayTakeAny() || p.hurried || p.model.ends.phase != queueOpen {
			return
		}
		if p.perform(call{callKindOf('t'), ""}); len(p.held) == before {
			return
		}
		item := p.held[len(p.held)-1]
		o := shardq.AddOptions{Priority: p.model.entry(item).priority}
		it := itemOf[T](item)
		again, _ := p.plain("AddWith(%s, %s)", func() { p.queue.AddWith(it, o) }, func(m *model) { _ = m.addWith(item, o, false) }, p.literal(it), p.literal(o))
		p.carryOut(again)
		done, _ := p.plain("Done(%s)", func() { p.queue.Done(it) }, func(m *model) { m.done(item) }, p.literal(it))
		p.carryOut(done)
		p.settle()
	}
}

func (p *player[T]) failAtPanic() {
	if r := recover(); r != nil && !p.failed {
		p.fatalf("panic: %v\n%s", r, debug.Stack())
	} else if r != nil {
		panic(r)
	}
}

// errDisagrees is what a check panics with while the player tries a model.
var errDisagrees = errors.New("the model disagrees")

// fatalf ends the test.
func (p *player[T]) fatalf(format string, arguments ...any) {
	if p.trying {
		panic(errDisagrees)
	}
	p.failed = true
	p.Fatalf("%s\n%s", fmt.Sprintf(format, arguments...), p.story())
}

// An action is a call that does not block, on the queue and on the model, which
// return the same. What it returns can be compared.
type action struct {
	code  string // as Go
	on    func() any
	in    func(m *model) any
	parts []func(m *model) any // of in, after a panic
	void  bool                 // it returns nothing
	ends  bool                 // a claim ends even if user code panics
	whole bool                 // how much was done does not show after a panic
}

// act returns a call as an action, or false if it is none.
func (p *player[T]) act(c call) (a action, ok bool) {
	q, item, d := p.queue, c.item(0), c.duration(0, p.tick)
	if !strings.Contains(c.arguments, "i") {
		item = ""
	}
	it := itemOf[T](item)
	switch c.letter {
	case 'F':
		a, ok = p.plain("Forget(%s)", func() { q.Forget(it) }, func(m *model) { m.forget(item) }, p.literal(it))
		a.ends = p.function != "Hash" && p.function != "Group"
		return a, ok
	case 'K':
		return action{code: code("q.Cancel(%s)", p.literal(it)), on: func() any { return q.Cancel(it) }, in: func(m *model) any { return m.cancel(item) }}, true
	case 'N':
		return action{code: code("q.Inspect().Operator().RetryNow(%s)", p.literal(it)),
			on: func() any { return q.Inspect().Operator().RetryNow(it) }, in: func(m *model) any { return m.retryNow(item) }}, true
	case 'd':
		if len(p.held) == 0 {
			return a, false
		}
		item = p.held[modulo(c.number(), len(p.held))]
		it = itemOf[T](item)
		fallthrough
	case 'D':
		return p.plain("Done(%s)", func() { q.Done(it) }, func(m *model) { m.done(item) }, p.literal(it))
	case 'P':
		return p.plain("Pause()", q.Pause, func(m *model) { m.gate.paused = true })
	case 'p':
		return p.plain("Resume()", q.Resume, func(m *model) { m.gate.paused = false })
	case 'z':
		r := rates[modulo(c.number(), len(rates))]
		if p.setup.is("discard on shutdown", "yes") {
			r = shardq.Rate{}
		}
		return p.plain("SetRate(%s)", func() { q.SetRate(r) }, func(m *model) { m.setRate(r) }, p.literal(r))
	case 'X':
		return p.plain("ShutDown()", q.ShutDown, (*model).shutDown)
	case 'o', 'h', 'Q':
		if p.model.grouped() {
			return p.actOnGroup(c, groupOf(item), d)
		}
	case 'e', 'r', 'q', 'a':
		return p.actOnClaim(c, d)
	case 'f':
		return p.actOnClaims(c)
	}
	return p.actAdd(c, item)
}

// plain is an action that returns nothing.
func (p *player[T]) plain(format string, on func(), in func(m *model), arguments ...any) (action, bool) {
	return action{
		code: "q." + code(format, arguments...), void: true,
		on: func() any { on(); return nil }, in: func(m *model) any { in(m); return nil },
	}, true
}

func (p *player[T]) actOnGroup(c call, group string, d time.Duration) (action, bool) {
	q := p.queue
	switch {
	case c.letter == 'o':
		return p.plain("ResumeGroup(%q)", func() { q.ResumeGroup(group) }, func(m *model) { m.pauseGroup(group, longAgo) }, group)
	case c.letter == 'h':
		return p.plain("RefreshGroup(%q)", func() { q.RefreshGroup(group) }, func(m *model) { m.refreshGroup(group) }, group)
	case d == 0:
		return p.plain("PauseGroup(%q, time.Time{})", func() { q.PauseGroup(group, time.Time{}) },
			func(m *model) { m.pauseGroup(group, endOfTime) }, group)
	case d < 10*years:
		until := p.clock.Now().Add(d)
		return p.plain("PauseGroup(%q, c.Now().Add(%s))", func() { q.PauseGroup(group, until) },
			func(m *model) { m.pauseGroup(group, m.now+max(d, -years)) }, group, p.literal(d))
	}
	return action{}, false
}

// do makes a call on the queue and on the model.
func (p *player[T]) do(c call) {
	if a, ok := p.act(c); ok {
		p.carryOut(a)
		return
	}
	p.disarm()
	switch c.letter {
	case 'S':
		p.step(c.duration(0, p.tick))
	case 'n':
		if at, any := p.model.nextEvent(); any {
			p.step(at - p.model.now + []time.Duration{0, 0, 1, -1}[modulo(c.number(), 4)])
		}
	case 'y':
		group, n := groupOf(c.item(0)), modulo(c.number(), len(groupPolicies))
		p.model.policy[group] = n
		if p.model.grouped() {
			p.write("policies[%q] = %s", group, p.literal(groupPolicies[n]))
		}
	case 'x':
		p.endEnded(c)
	default:
		p.doEnd(c)
		p.doConsume(c)
	}
}

// forgetDone forgets the items that are not in processing any more.
func (p *player[T]) forgetDone() {
	p.held = slices.DeleteFunc(p.held, func(held string) bool { return !p.model.entry(held).inFlight() })
}

func (p *player[T]) carryOut(a action) {
	var got any
	if a.whole {
		p.disarm()
		p.spread = p.spread || len(p.parked) > 0 // who may get an item before the next is added
	}
	at := len(p.lines)
	if p.write("%s", a.code); p.armed {
		panicked := caught(func() { got = a.on() })
		p.write("synctest.Wait()\nf.arm(\"\", 0)")
		synctest.Wait()
		p.faults.arm("", 0) // not for what the player asks
		if panicked {
			p.chance = true
			p.lines[at] = code("require.True(luck{t}, caught(func() { %s }))", a.statement())
			p.survive(a)
			return
		}
	} else {
		got = a.on()
	}
	want := a.in(p.model)
	if p.lines[at] = p.returning(a, want); len(p.lines) > at+1 {
		p.lines[at] = code("require.False(luck{t}, caught(func() { %s }))", p.lines[at])
	}
	if got != want {
		p.fatalf("%s returned %+v, not %+v", a.code, got, want)
	}
	p.forgetDone()
}

// statement is the call, whose results are not used.
func (a action) statement() string {
	if a.void {
		return a.code
	}
	return code("results(%s)", a.code)
}

const years = 365 * 24 * time.Hour

// doEnd makes a call that may block, or cancels one.
func (p *player[T]) doEnd(c call) {
	q, m := p.queue, p.model
	switch c.letter {
	case 'Y':
		w := &pending{deed: &deed{}}
		p.begin(w, "C12", 0, "q.ShutDownWithDrain(); return results(nil)", func(context.Context) { q.ShutDownWithDrain() })
		m.shutDownWithDrain(w)
	case 'Z':
		n := modulo(c.number(), 6)
		w := &pending{deed: &deed{}, drain: shardq.DrainOptions{Delayed: shardq.DelayedPolicy(n % 3)}}
		if n >= 3 {
			w.drain.Retries = shardq.AcceptRetries
		}
		options := w.drain
		// The deadline is between ticks. A fake clock may be moved at any time.
		if d := c.duration(0, p.tick); d > 0 && d < years && p.tick > 1 && !p.setup.is("clock", "fake") && len(m.delayed()) <= 32 {
			w.deadline = m.tickOf(m.now+d) + p.tick + p.tick/2
		}
		wait := max(0, w.deadline-m.now)
		p.begin(w, "C42", wait, code("dropped, err := q.Drain(ctx, %s); return results(sorted(dropped), err)", p.literal(options)), func(ctx context.Context) {
			dropped, err := q.Drain(ctx, options)
			w.dropped, w.err = namesOf(dropped), err
		})
		m.startDrain(w)
	case 'w':
		w := &pending{deed: &deed{}}
		p.begin(w, "C59", 0, "return results(q.WaitIdle(ctx))", func(ctx context.Context) { w.err = q.WaitIdle(ctx) })
		m.waitIdle(w)
	case 'u':
		if c.number()%2 == 0 || len(m.ends.idlers) == 0 {
			p.cancelOne(&m.ends.drains, c.number())
		} else {
			p.cancelOne(&m.ends.idlers, c.number())
		}
	case 'v':
		p.cancelOne(&m.bounds.waiters, c.number())
	case 'U':
		item, o := c.item(0), p.addOptions(c)
		same := func(w *pending) bool { return w.item == item }
		if len(m.bounds.waiters) < 4 && !slices.ContainsFunc(m.bounds.waiters, same) {
			w := &pending{deed: &deed{}, item: item, add: o}
			p.begin(w, "C40", 0, code("return results(q.AddContext(ctx, %s, %s))", p.literal(itemOf[T](item)), p.literal(o)), func(ctx context.Context) { w.err = q.AddContext(ctx, itemOf[T](item), o) })
			m.addContext(w)
		}
	}
}

// begin makes a call that may block, with a limited wait unless that is 0.
func (p *player[T]) begin(w *pending, clause string, limit time.Duration, text string, call func(ctx context.Context)) {
	var ctx context.Context
	ctx, w.cancel = p.newContext(limit, text)
	w.clause, w.call = clause, p.writeStart(text)
	p.model.pending = append(p.model.pending, w)
	go func() {
		if caught(func() { call(ctx) }) {
			w.err = errInjected
		}
		p.locked(func() { w.returned = true })
	}()
	synctest.Wait()
}

// cancelOne ends the context of one of the blocked calls.
func (p *player[T]) cancelOne(calls *[]*pending, number int) {
	if n := len(*calls); n > 0 {
		at := modulo(number, n)
		p.cancelCall((*calls)[at].cancel)
		(*calls)[at].end(context.Canceled)
		*calls = slices.Delete(*calls, at, at+1)
	}
}

// actAdd returns a call that adds.
func (p *player[T]) actAdd(c call, item string) (a action, ok bool) {
	q, o, it := p.queue, p.addOptions(c), itemOf[T](item)
	add := func(o shardq.AddOptions) func(m *model) {
		return func(m *model) { _ = m.addWith(item, o, false) }
	}
	switch c.letter {
	case 'A':
		return p.plain("Add(%s)", func() { q.Add(it) }, add(shardq.AddOptions{}), p.literal(it))
	case 'W':
		return p.plain("AddAfter(%s, %s)", func() { q.AddAfter(it, o.After) }, func(m *model) {
			if add(o)(m); o.After == 0 && m.ends.phase == queueOpen {
				m.measured.retries++ // each AddAfter counts, also this one
			}
		}, p.literal(it), p.literal(o.After))
	case 'R':
		return p.plain("AddRateLimited(%s)", func() { q.AddRateLimited(it) }, add(shardq.AddOptions{RateLimited: true}), p.literal(it))
	case 'V':
		return p.plain("AddWith(%s, %s)", func() { q.AddWith(it, o) }, add(o), p.literal(it), p.literal(o))
	case 'T':
		return action{code: code("q.TryAdd(%s, %s)", p.literal(it), p.literal(o)),
			on: func() any { return q.TryAdd(it, o) }, in: func(m *model) any { return m.addWith(item, o, true) }}, true
	case 'M':
		items := p.batch(c)
		batch := itemsOf[T](items)
		a, _ = p.plain("AddBatch(%s, %s)", func() { q.AddBatch(batch, o) }, func(m *model) {
			for _, item := range items {
				_ = m.addWith(item, o, false)
			}
		}, p.literal(batch), p.literal(o))
		a.whole = o != (shardq.AddOptions{Priority: o.Priority}) // they may be added one by one
		for n := 64; n < len(items); n += 64 {
			a.parts = append(a.parts, func(m *model) any {
				for _, item := range items[:n] {
					_ = m.addWith(item, o, false)
				}
				return nil
			})
		}
		return a, true
	}
	return a, false
}

// batch returns several items. While a consumer is parked, none is there twice,
// because the consumer may get it in between.
func (p *player[T]) batch(c call) (items []string) {
	for i := range c.size() {
		items = append(items, c.item(i))
	}
	if c.number() == 1 && len(p.parked) == 0 {
		items = append(items, items[0])
	}
	return items
}

func (p *player[T]) addOptions(c call) shardq.AddOptions {
	policies := []shardq.DelayPolicy{shardq.KeepEarliest, shardq.KeepLatest, shardq.KeepNew, shardq.KeepOld}
	policy := modulo(c.argument('o', 0), 2*len(policies))
	at := time.Time{}
	if d := c.duration(0, p.tick); c.argument('t', 0)%3 == 1 && d < years && d > -years {
		at = p.clock.Now().Add(d + 1) // and then After may be the longer
	}
	window := c.duration(2, p.tick)
	if p.armed && p.function == "Now" { // nothing would show whether it is open (C17)
		window = 0
	}
	return shardq.AddOptions{
		After:          c.duration(0, p.tick),
		Policy:         policies[policy%len(policies)],
		RateLimited:    policy >= len(policies),
		Priority:       c.priority(),
		MaxWait:        c.duration(1, p.tick),
		NotAgainWithin: window,
		At:             at,
	}
}

// step lets time pass, as far as the clock can go. If consumers are parked, or
// the clock is the real one, it stops at each event, so that it is known what
// is there when they wake.
func (p *player[T]) step(d time.Duration) {
	m := p.model
	to := m.now + min(max(d, -years), 100*years)
	if to > 90*years || to < -90*years {
		to = m.now + min(max(d, -time.Hour), time.Hour)
	}
	fake, isFake := p.clock.(*clock.Fake)
	if !isFake {
		to = max(to, m.now)
	}
	for len(p.parked) > 0 || !isFake {
		at, any := m.nextEvent()
		if !any || at >= to {
			break
		}
		if !p.stepTo(fake, at) {
			return
		}
		p.settle()
	}
	p.stepTo(fake, to)
}

// stepTo does not let time pass, and returns false, if parked consumers would
// wake while delays expire: chance decides which comes first.
func (p *player[T]) stepTo(fake *clock.Fake, to time.Duration) bool {
	m := p.model
	if len(p.parked) > 0 && m.racy(to) {
		return false
	}
	p.setBack = p.setBack || to < m.now
	p.spread = p.spread || len(p.parked) > 0 && m.readiesApart(to)
	if m.tickOf(to) != m.tickOf(m.now) {
		p.inTick = 0
	}
	if fake != nil {
		p.write("c.Step(%s)", p.literal(to-m.now))
		fake.Step(to - m.now)
	} else {
		p.write("time.Sleep(%s); synctest.Wait()", p.literal(to-m.now))
		time.Sleep(to - m.now)
		synctest.Wait()
	}
	m.pass(to)
	return true
}

// release ends all blocked calls.
func (p *player[T]) release() {
	if len(p.parked)+len(p.model.pending) == 0 {
		return // nothing is blocked, and a queue that has failed might fail again
	}
	clear(p.model.policy)
	free(p.queue)
	for _, w := range p.model.pending {
		w.cancel.CancelFunc()
	}
	for _, s := range p.parked {
		if !s.forever {
			s.cancel.CancelFunc()
		}
	}
	for item := range p.model.items {
		p.queue.Done(itemOf[T](item))
	}
}

// finish processes all items, and checks that nothing is left.
func (p *player[T]) finish() {
	kind := func(letter rune, given string) call { return call{callKindOf(letter), given} }
	p.playJoined()
	p.play(kind('p', ""))
	p.play(kind('z', ""))
	for group := 'a'; group <= 'y' && p.model.grouped(); group++ {
		if name := groupOf(string(group)); p.model.policy[name] != 0 || p.model.lines[name] != nil {
			p.play(kind('y', string(group)))
			p.play(kind('o', string(group)))
			p.play(kind('h', string(group)))
		}
	}
	p.processAll(kind)
	p.play(kind('X', ""))
	p.processAll(kind)
	s := p.queue.Stats()
	if s.Held+len(p.parked)+len(p.model.pending) > 0 {
		p.differs("results(q.Stats().Held, q.Stats().Parked)", []any{0, 0}, "at the end, Stats are %+v, and %d are parked, %d pending", s, len(p.parked), len(p.model.pending))
	}
}

// processAll takes and ends all that can be within an hour.
func (p *player[T]) processAll(kind func(letter rune, given string) call) {
	for m, busy := p.model, true; busy; {
		at, more := m.nextEvent()
		switch {
		case m.mayTakeAny() && len(m.items) > 50:
			p.play(kind('l', "8"))
		case m.mayTakeAny():
			p.play(kind('t', ""))
		case len(p.held) > 50 && len(p.claims) > 50:
			p.play(kind('f', "08"))
		case len(p.held) > 0:
			p.play(kind('d', ""))
		case more && m.held() > 0 && at-m.now < time.Hour:
			before := m.now
			p.play(kind('n', ""))
			busy = m.now > before
		default:
			busy = false
		}
	}
}
