package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// TestCoalescerBehavesAsItsModel plays random calls to a coalescer. In the
// middle of a call, when it calls the clock, Merge or another function of the
// user, other calls may run. The results must be those of a model that plays
// the same calls one after the other, in some order: those in the middle in
// theirs, and the other one before, after or between them.
func TestCoalescerBehavesAsItsModel(t *testing.T) {
	testscale.Rapid(40_000)
	rapid.Check(t, checkCoalescer)
}

func FuzzCoalescer(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkCoalescer)) }

func checkCoalescer(rt *rapid.T) {
	rapid.SyncTest(rt, func(rt *rapid.T) {
		p := newJoinPlayer(rt)
		defer p.release()
		defer rt.Logf("%v", p)
		rt.Repeat(p.actions())
		p.finish(rt)
	})
}

// A joinCall is a call that has returned.
type joinCall struct {
	keys []any                             // that it was about, or nil for any
	wait time.Duration                     // the longest that it has asked for
	play func(m *joinModel) (fault string) // what the model does
	// passes says that it may have passed over other keys, of which another
	// call was merging values.
	passes bool
	// panicked says that Merge has panicked in it.
	panicked bool
	or       []func(m *joinModel) (fault string) // that the model may do instead
}

func (c joinCall) isAbout(key any) bool { return c.keys == nil || slices.Contains(c.keys, key) }

// A joinPlayer plays calls to a coalescer and to its models.
type joinPlayer struct {
	*joinedUser
	script
	setup          joinSetup
	operator       stats.Operator
	possible       []*joinModel // those that agree with all results so far
	rt             *rapid.T
	claims         map[any]joinTaken // what was taken, by key
	keys           []any
	sources        []*joinSource
	closed         []closedSource
	from           map[string]*joinSource // by the value
	strict         bool                   // a Take returns a key of the highest priority
	put            int                    // the number of the last value
	claimed, skips int                    // the numbers of claims in Go, and of actions that were skipped
	gone           int                    // the values that have left, less those that came back

	depth   int // of calls under way
	until   int // so many calls of user code, other calls run
	reached int // the calls of user code so far
	between []joinCall
	inClock bool
	sane    bool // no value is put whose Merge panics
	risky   bool // such a value was put in the call under way
	joinParking
	joinRisk
}

// A joinTaken is a value in processing, with its claim if it has one.
type joinTaken struct {
	value string
	claim *worker.Claim[joinEntry]
	text  string // of the claim in Go
}

type joinEntry = coalesce.Entry[any, string]

const firstBackoff, longestBackoff = 20 * time.Second, 5 * time.Minute

var modelPolicies = []shardq.DelayPolicy{shardq.KeepEarliest, shardq.KeepLatest, shardq.KeepNew, shardq.KeepOld}

// letterOf returns the letter with which the values of a key begin, and tenantOf
// its group: a and b have one, c and d another.
func letterOf(key any) string { return string(rune('a' + slices.Index(anyItems, key))) }
func tenantOf(key any) string { return string('a' + (letterOf(key)[0]-'a')/2*2) }

// slowRates are rates whose tokens come at ticks.
var slowRates = []shardq.Rate{{}, {PerSecond: 1}, {PerSecond: 0.5}, {PerSecond: 0.5, Burst: 2}}

func newJoinPlayer(rt *rapid.T) *joinPlayer {
	p := &joinPlayer{
		rt: rt, claims: map[any]joinTaken{}, from: map[string]*joinSource{}, keys: anyItems[:rapid.IntRange(1, 4).Draw(rt, "keys")],
		setup: joinSetup{
			Shards: rapid.IntRange(1, 5).Draw(rt, "shards"), Capacity: rapid.IntRange(0, 8).Draw(rt, "capacity"),
			Weighed: rapid.Bool().Draw(rt, "weighed"), PutEnds: rapid.Bool().Draw(rt, "PutEndsBackoff"),
			Linger:   drawDuration(rt, "Linger", 0, 10*time.Second, 10*time.Second, 2*time.Minute),
			Readable: rapid.Bool().Draw(rt, "Readable"), Grouped: rapid.Bool().Draw(rt, "groups"), Metrics: rapid.Bool().Draw(rt, "Metrics"),
		},
	}
	if p.setup.Grouped {
		p.setup.Limit, p.setup.Weight = rapid.IntRange(0, 2).Draw(rt, "Limit"), rapid.IntRange(0, 3).Draw(rt, "Weight")
	}
	if p.setup.Linger > 0 {
		p.setup.LingerValues = rapid.IntRange(0, 4).Draw(rt, "LingerValues")
	}
	if p.parks = rapid.Bool().Draw(rt, "parks"); p.parks && rapid.Bool().Draw(rt, "rates") {
		p.setup.Rate = rapid.SampledFrom(slowRates).Draw(rt, "Rate")
		if p.setup.Grouped {
			p.setup.GroupRate = rapid.SampledFrom(slowRates).Draw(rt, "rate of groups")
		}
	}
	p.strict = p.setup.Shards == 1 && !p.setup.Grouped
	p.joinedUser = newJoined(p.setup, p.user)
	m := &joinModel{
		joinSetup: p.setup, now: p.clock.Now(), keys: map[any]*joinKey{}, pauses: map[string]time.Time{}, done: map[string]bool{},
		gate: bucket{rate: p.setup.Rate, full: longAgo}, rates: map[string]bucket{},
	}
	for _, key := range p.keys {
		m.keys[key] = &joinKey{}
		m.rates[tenantOf(key)] = bucket{rate: p.setup.GroupRate, full: longAgo}
	}
	p.possible = []*joinModel{m}
	p.operator = p.Inspect().Operator()
	for n := range rapid.IntRange(0, 2).Draw(rt, "sources") {
		p.sources = append(p.sources, p.open(string(rune('x'+n)), int64(n)))
	}
	return p
}

// String returns the program in Go.
func (p *joinPlayer) String() string {
	return p.program(code("c, err := newJoined(%s, nil), error(nil)\n_ = err\n", goOf(p.setup)))
}

func drawDuration(rt *rapid.T, label string, from ...time.Duration) time.Duration {
	return rapid.SampledFrom(from).Draw(rt, label)
}

// user is called by the user's code. The clock may be called by the driver of the
// delays, for which a ShutDown waits.
func (p *joinPlayer) user(name string) {
	if !p.parks && p.depth == 1 {
		p.inClock = name == "Now"
		p.interrupt()
		p.inClock = false
	}
}

// atOnce ends when a call is about to wait.
func atOnce() context.Context { return &nowait.Context{Context: context.Background()} }

// actions are what may happen next. The one without a name comes after each.
func (p *joinPlayer) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){"": func(rt *rapid.T) { p.settle(rt, joinCall{play: noFault}, nil) }}
	for name, call := range p.calls() {
		actions[name] = func(rt *rapid.T) { p.play(rt, name, call) }
	}
	actions["pass time"] = p.passTime
	actions["drain"] = p.playDrain
	if p.sources != nil {
		actions["close a source"] = p.closeSource
	}
	if p.parks {
		for name, begin := range p.parkedCalls() {
			actions[name] = func(rt *rapid.T) {
				p.rt = rt
				begin()
				p.settle(rt, joinCall{keys: []any{}, play: noFault}, nil)
			}
		}
	}
	return actions
}

func noFault(*joinModel) string { return "" }

// calls are the calls that may run in the middle of others. A call returns
// false if it was not possible.
func (p *joinPlayer) calls() map[string]func() (joinCall, bool) {
	return map[string]func() (joinCall, bool){
		"Put":     p.callPut,
		"PutWith": p.callPutWith, "PutWith again": p.callPutWith,
		"PutBatch":               p.callPutBatch,
		"Skip":                   p.callSkip,
		"Cancel":                 p.callCancel,
		"Cancel of the Operator": p.callOperatorCancel,
		"RetryNow":               p.callRetryNow,
		"Take":                   p.callTake,
		"ClaimBatch":             p.callClaimBatch,
		"Done":                   p.callDone,
		"PutBack":                p.callPutBack,
		"Retry":                  p.callRetry,
		"RequeueAfter":           p.callRequeueAfter,
		"Peek":                   p.callPeek,
		"pause":                  p.callPause,
		"shut down":              p.callShutDown,
	}
}

// play plays a call, and those that run in its middle.
func (p *joinPlayer) play(rt *rapid.T, name string, call func() (joinCall, bool)) {
	p.rt, p.between, p.faulty, p.risky, p.script.step = rt, nil, nil, false, len(p.lines)
	p.until = rapid.IntRange(0, 4).Draw(rt, "interrupted at")
	p.armFor(name)
	p.depth, p.reached = 1, 0
	outer, is := p.catch(call)
	p.depth = 0
	p.disarm()
	if !is {
		p.skip(rt)
		return
	}
	p.settle(rt, outer, p.between)
	p.keepOwed()
}

// skip has another action drawn, as a rule: a fuzzer may draw the same for ever.
func (p *joinPlayer) skip(rt *rapid.T) {
	if p.skips++; p.skips%32 > 0 {
		rt.Skip("impossible, or rare")
	}
}

// catch notes that Merge or an armed function has panicked, or one after the other.
func (p *joinPlayer) catch(call func() (joinCall, bool)) (c joinCall, is bool) {
	before := len(p.faulty)
	defer func() {
		keys := slices.Clone(p.faulty[before:])
		if p.faulty = p.faulty[:before]; p.hasFired() {
			c, is = p.survive(recover(), keys), true
			return
		}
		if len(keys) == 0 {
			return // any other panic goes on
		}
		if err := recover(); err != errMerge {
			panic(err)
		}
		p.write("require.Panics(t, func() { %s })", p.endCall())
		c, is = joinCall{keys: keys, panicked: true, play: func(m *joinModel) string { return m.split(keys) }}, true
	}()
	return call()
}

// interrupt is called by user code. It may play other calls.
func (p *joinPlayer) interrupt() {
	if p.parks || p.depth != 1 {
		return
	}
	p.reached++
	if p.until--; p.until != 0 {
		return
	}
	begin, number := len(p.lines), p.reached
	p.depth++
	defer func() {
		p.depth--
		body := slices.Clone(p.lines[begin:])
		p.lines = slices.Insert(p.lines[:begin], p.script.step, slices.Concat([]scriptLine{{text: code("c.at, c.inside = %d, func() {", number)}}, body, []scriptLine{{text: "}"}})...)
	}()
	calls := p.calls()
	names := slices.Sorted(maps.Keys(calls))
	for range rapid.IntRange(1, 3).Draw(p.rt, "calls in the middle") {
		call := calls[rapid.SampledFrom(names).Draw(p.rt, "call in the middle")]
		if c, is := p.catch(call); is {
			p.between = append(p.between, c)
		}
	}
}

// settle plays the calls to the models, and keeps those that agree.
func (p *joinPlayer) settle(rt *rapid.T, outer joinCall, inside []joinCall) {
	var agree []*joinModel
	var faults []string
	for _, m := range p.possible {
		for at := range (len(inside) + 1) * (len(outer.or) + 1) {
			n, outer := m.clone(), outer
			if i := at / (len(inside) + 1); i > 0 {
				outer.play = outer.or[i-1]
			}
			if p.parks {
				synctest.Wait()
			}
			n.overlap(outer, inside)
			fault := ""
			for _, call := range slices.Insert(slices.Clone(inside), at%(len(inside)+1), outer) {
				if fault = call.play(n); fault != "" {
					break
				}
			}
			n.overlaps, n.holdsBack = false, false
			if fault == "" && !p.parks {
				fault = p.compare(n)
			}
			if fault != "" {
				faults = append(faults, fault)
			} else if !slices.ContainsFunc(agree, n.equals) {
				agree = append(agree, n)
			}
		}
	}
	if len(agree) == 1 && p.parks {
		if fault := p.settleParked(agree[0]); fault != "" {
			faults, agree = append(faults, fault), nil
		}
	}
	if len(agree) == 0 {
		if len(faults) > 1 {
			for _, key := range p.keys {
				p.saw(outcome(p.Queue().Lookup(key)), "outcome(c.Queue().Lookup(%s))", goOf(key))
			}
			p.saw(outcome(countsOf(p.Coalescer)), "outcome(countsOf(c.Coalescer))")
		}
		p.fail(faults)
		rt.Fatalf("no order of the calls explains what happened:\n%s", strings.Join(faults, "\n"))
	}
	p.possible, p.script.step = agree, len(p.lines)
}

// overlap makes those keys vague that calls in the middle of another one share
// with it.
func (m *joinModel) overlap(outer joinCall, inside []joinCall) {
	m.overlaps, m.holdsBack = len(inside) > 0, outer.passes || outer.panicked
	for key, k := range m.keys {
		if outer.isAbout(key) && slices.ContainsFunc(inside, func(c joinCall) bool { return c.passes || c.isAbout(key) }) {
			k.split = true
			k.blur(m.now.Add(outer.wait))
		}
	}
}

func (m *joinModel) equals(other *joinModel) bool {
	if m.closed != other.closed || m.retries != other.retries {
		return false
	}
	for key, k := range m.keys {
		if *k != *other.keys[key] {
			return false
		}
	}
	return maps.Equal(m.done, other.done)
}

// adopt makes a vague key what the queue says of it, within the bounds.
func (m *joinModel) adopt(key any, item stats.Item[any], held bool) (fault string) {
	k := m.keys[key]
	if k.pending == "" {
		k.ghost = k.ghost && held
		*k = joinKey{taken: k.taken, canceled: k.canceled, left: k.left, failures: k.failures, ghost: k.ghost}
		return ""
	}
	if !k.vague {
		return ""
	}
	k.priority = item.Priority
	waits := !item.Deadline.IsZero() && item.State != stats.Ready && !item.Dirty
	switch {
	case !held, k.isBusy() && !waits && !item.Dirty:
		return fmt.Sprintf("no Take will come for %+v", *k)
	case waits && item.Deadline.After(k.latest):
		return fmt.Sprintf("%+v waits until %v", *k, item.Deadline)
	case waits:
		k.phase, k.deadline, k.limit = valueWaits, item.Deadline, time.Time{}
	default:
		k.makeReady()
	}
	return ""
}

// compare compares everything that can be seen with a model.
func (p *joinPlayer) compare(m *joinModel) (fault string) {
	var keys, ready, busy, delayed, vague int
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	for _, key := range p.keys {
		k := m.keys[key]
		item, held := p.Queue().Lookup(key)
		if k.failures < 0 || k.vague { // a Cancel forgets them after others have run
			k.failures = p.Queue().NumRequeues(key)
		}
		if fault := m.adopt(key, item, held); fault != "" {
			return fault
		}
		if value, want := p.peek(key), k.taken+k.pending; p.setup.Readable && value != want && !strings.Contains(want, "!") {
			return mustEqual(outcome(want, want != ""), outcome(value, value != ""), "outcome(c.Peek(%s))", goOf(key))
		}
		if k.ghost && k.pending == "" {
			count(&busy, item.State == stats.Processing)
			count(&ready, item.State == stats.Ready)
			count(&delayed, !item.Deadline.IsZero())
			continue
		}
		want, wantHeld := m.Item(key)
		want.Shard, want.Since, want.Worker, want.Group = item.Shard, item.Since, item.Worker, item.Group // not modeled
		if k.isBusy() && k.isDelayed() || k.vague {
			want.Priority = item.Priority // not known
		}
		if fault := mustEqual(outcome(want, wantHeld), outcome(item, held), "outcome(c.Queue().Lookup(%s))", goOf(key)); fault != "" {
			return fault + code(" // %+v", *k)
		}
		count(&keys, k.pending != "")
		count(&ready, k.isReady())
		count(&busy, k.isBusy())
		count(&delayed, k.isDelayed())
		count(&vague, k.vague)
	}
	s := p.Stats()
	v := s.Values
	want := counts{keys, keys, ready, busy, delayed, m.weight(), m.Capacity, int(m.put)}
	if pending := int(v.Put-v.Merged) - p.gone - m.dropped; pending < keys || keys == 0 && pending > 0 {
		return fmt.Sprintf("put %d and merged %d, and %d have left", v.Put, v.Merged, p.gone)
	}
	isTold := !(s.Held >= 3 && !p.isHigh || s.Held <= 1 && p.isHigh)
	if p.untold = p.untold && !isTold; !isTold && !p.untold {
		return fmt.Sprintf("the last call of Watermarks.On says that it is high: %v, with %d keys", p.isHigh, s.Held)
	}
	if fault := mustEqual(outcome(want), outcome(countsOf(p.Coalescer)), "outcome(countsOf(c.Coalescer))"); fault != "" {
		return fault
	}
	// A wait that has ended may count as a linger while another one is running.
	lingers := m.count(func(k *joinKey) bool { return k.phase == valueLingers })
	if v.Lingering < lingers || v.Lingering > delayed {
		return fmt.Sprintf("%d linger, not %d to %d", v.Lingering, lingers, delayed)
	}
	return p.compareSources(m)
}

func (m *joinModel) count(is func(*joinKey) bool) (n int) {
	for _, k := range m.keys {
		if is(k) {
			n++
		}
	}
	return n
}

func (p *joinPlayer) peek(key any) (value string) {
	if p.setup.Readable {
		before := len(p.faulty)
		defer func() {
			_ = recover() // a Merge that panics
			p.faulty = p.faulty[:before]
		}()
		value, _ = p.Peek(key)
	}
	return value
}

func (p *joinPlayer) drawKey() any { return rapid.SampledFrom(p.keys).Draw(p.rt, "key") }

func (p *joinPlayer) nextValue(key any) string {
	letter := letterOf(key)
	p.put++
	if rapid.IntRange(0, 15).Draw(p.rt, "bad") == 15 && !p.sane && !p.parks {
		letter, p.risky = letter+"!", true
	}
	return letter + strconv.Itoa(p.put) + "."
}

// callPut puts a value by one of three methods, and callPutWith also with
// options.
func (p *joinPlayer) callPut() (joinCall, bool) {
	key := p.drawKey()
	value := p.nextValue(key)
	return p.putBy(key, value, coalesce.PutOptions{}, code("Put(%s, %q)", goOf(key), value), func() error { return p.Put(key, value) })
}

func (p *joinPlayer) putBy(key any, value string, o coalesce.PutOptions, text string, put func() error) (joinCall, bool) {
	how, from := rapid.IntRange(0, 2).Draw(p.rt, "how"), p.drawSource()
	if from != nil && (how == 1 || o != coalesce.PutOptions{}) {
		how = 2
	}
	ways := []func() error{
		put,
		func() error { return p.TryPut(key, value, o) },
		func() error { return p.PutContext(atOnce(), key, value, o) },
	}
	if from != nil {
		ways[0] = func() error { return p.putFrom(from, key, value, nil) }
		ways[2] = func() error { return p.putFrom(from, key, value, &o) }
	} else {
		p.begin("c.%s", []string{text, code("TryPut(%s, %q, %s)", goOf(key), value, goOf(o)), code("PutContext(atOnce(), %s, %q, %s)", goOf(key), value, goOf(o))}[how])
	}
	err := error(nil)
	play := func(m *joinModel) string {
		switch {
		case err == shardq.ErrShutDown && m.closed:
			return ""
		case err != nil && (how == 0 || m.fits(key, value) && !m.holdsBack && !p.mustQueue(m, key)):
			return err.Error()
		case err != nil:
			return ""
		case how > 0 && (!m.fits(key, value) || p.mustQueue(m, key)):
			return "it does not fit"
		}
		return m.Put(key, value, o)
	}
	if p.function == "Now" && (o.Delay != 0 || o.MaxWait != 0 || p.setup.Linger > 0) {
		p.disarm() // whether it waits would not be known
	}
	p.risks(key, joinTaken{}, "Hash Group GroupPolicy Weight", "", play) // C54
	if err = ways[how](); from == nil {
		p.returned(err)
	}
	return joinCall{keys: []any{key}, wait: max(o.Delay, p.possible[0].Linger), play: play}, true
}

func (p *joinPlayer) callPutWith() (joinCall, bool) {
	key := p.drawKey()
	value := p.nextValue(key)
	o := p.drawOptions()
	return p.putBy(key, value, o, code("PutWith(%s, %q, %s)", goOf(key), value, goOf(o)), func() error { return p.PutWith(key, value, o) })
}

// callPutBatch plays a batch as a whole: no other call runs in its middle.
func (p *joinPlayer) callPutBatch() (joinCall, bool) {
	for _, m := range p.possible {
		if p.risky || m.count(func(k *joinKey) bool { return strings.Contains(k.taken+k.pending, "!") }) > 0 {
			return joinCall{}, false // how many are accepted before a panic is not known
		}
	}
	p.until, p.sane = 0, true
	defer func() { p.sane = false }()
	var entries []joinEntry
	for range rapid.IntRange(0, 5).Draw(p.rt, "entries") {
		key := p.drawKey()
		has := slices.ContainsFunc(entries, func(e joinEntry) bool { return e.Key == key })
		if entries == nil || len(p.takes) == 0 || !has && len(p.puts) == 0 { // otherwise these may come in between
			entries = append(entries, joinEntry{Key: key, Value: p.nextValue(key)})
		}
	}
	o := p.drawOptions()
	p.begin("c.PutBatch(%s, %s)", goOf(entries), goOf(o))
	n, err := p.PutBatch(entries, o)
	p.returned(n, err)
	return joinCall{keys: p.keys, wait: max(o.Delay, p.possible[0].Linger), play: func(m *joinModel) string {
		for _, e := range entries[:n] {
			if fault := m.Put(e.Key, e.Value, o); fault != "" {
				return fault
			}
		}
		if n < len(entries) {
			return onlyAfterShutDown(m, err)
		}
		return ""
	}}, true
}

func (p *joinPlayer) drawOptions() coalesce.PutOptions {
	return coalesce.PutOptions{
		Delay:    drawDuration(p.rt, "delay", 0, 0, -1, 5*time.Second, 30*time.Second, 3*time.Minute),
		Policy:   rapid.SampledFrom(modelPolicies).Draw(p.rt, "policy"),
		MaxWait:  drawDuration(p.rt, "MaxWait", 0, 0, 7*time.Second, 50*time.Second),
		Priority: rapid.SampledFrom([]int{0, 0, 3, 7, -2}).Draw(p.rt, "priority"),
	}
}

func onlyAfterShutDown(m *joinModel, err error) (fault string) {
	if m.closed && err == shardq.ErrShutDown {
		return ""
	}
	return err.Error()
}

func (p *joinPlayer) left(is bool, values int) {
	if is {
		p.gone += values
	}
}

func (p *joinPlayer) callCancel() (joinCall, bool) {
	key := p.drawKey()
	if p.over && p.isRated() {
		return joinCall{}, false // it would leave a key without a value, which takes a token
	}
	before, first := *p.possible[0].keys[key], "Hash Group GroupPolicy Weight"
	if before.split || before.vague || (before.priority != 0 || before.isDelayed() || p.possible[0].closed) && !strings.Contains(first, p.function) {
		p.disarm() // how much is canceled, or how the key comes back, would not be known
	}
	all := []func(*joinModel) string{func(m *joinModel) string { // C17: the value stays
		m.keys[key].canceled, m.keys[key].failures = m.keys[key].isBusy(), 0
		return ""
	}}
	if p.function != "OnAdd" {
		all = append(all, func(m *joinModel) string { // C78
			m.dropped += min(len(m.keys[key].pending), 1)
			return m.Cancel(key, m.keys[key].pending)
		})
	}
	p.risks(key, joinTaken{}, first, "Now AfterFunc Reset Stop", all...)
	p.begin("c.Cancel(%s)", goOf(key))
	value, ok := p.Cancel(key)
	p.returned(value, ok)
	p.left(ok, 1)
	return joinCall{keys: []any{key}, play: func(m *joinModel) string {
		if ok != (value != "") {
			return "a value without ok"
		}
		return m.Cancel(key, value)
	}}, true
}

// callOperatorCancel is Cancel of the Operator, which does not return the
// value.
func (p *joinPlayer) callOperatorCancel() (joinCall, bool) {
	key := p.drawKey()
	unknown := func(m *joinModel) bool { return m.keys[key].vague || m.keys[key].split || m.closed }
	if p.depth > 1 || slices.ContainsFunc(p.possible, unknown) {
		return joinCall{}, false // the model would not know what is left
	}
	p.until = 0 // likewise
	p.begin("c.Inspect().Operator().Cancel(%s)", goOf(key))
	was := p.operator.Cancel(key)
	p.returned(was)
	p.left(was.Any(), 1)
	return joinCall{keys: []any{key}, play: func(m *joinModel) string {
		k := m.keys[key]
		want := shardq.Canceled{Ready: k.isReady(), Dirty: k.phase == valueReady && k.isBusy(), Delayed: k.isDelayed()}
		if was != want {
			return fmt.Sprintf("canceled %+v, not %+v: %+v", was, want, *k)
		}
		return m.Cancel(key, k.pending)
	}}, true
}

func (p *joinPlayer) callRetryNow() (joinCall, bool) {
	key := p.drawKey()
	p.begin("c.Inspect().Operator().RetryNow(%s)", goOf(key))
	ended := p.operator.RetryNow(key)
	p.returned(ended)
	return joinCall{keys: []any{key}, play: func(m *joinModel) string { return m.RetryNow(key, ended) }}, true
}

// taken returns the call that has taken some values.
func (p *joinPlayer) taken(err error, entries []joinEntry, claims []worker.Claim[joinEntry], texts ...string) (joinCall, bool) {
	var keys []any
	if err != nil {
		entries = nil
	}
	p.left(true, len(entries))
	for i, e := range entries {
		keys = append(keys, e.Key)
		p.claims[e.Key] = joinTaken{value: e.Value}
		if claims != nil {
			p.claims[e.Key] = joinTaken{e.Value, &claims[i], texts[i]}
		}
	}
	return joinCall{keys: keys, passes: true, play: func(m *joinModel) string {
		if err != nil {
			return m.TakeNone()
		}
		for i, e := range entries {
			k := m.keys[e.Key]
			before := *k
			if fault := m.Take(e.Key, e.Value); fault != "" {
				return fault
			}
			if claims != nil && !before.vague && (claims[i].Priority > before.priority || claims[i].Priority < before.priority && e.Value == before.pending) { // C77
				return fmt.Sprintf("claimed with priority %d: %+v", claims[i].Priority, before)
			}
			for _, other := range m.keys {
				if p.strict && other.isReady() && !other.vague && !before.vague && other.priority > before.priority {
					return fmt.Sprintf("took %+v before %+v", before, *other)
				}
			}
		}
		return ""
	}}, true
}

func (p *joinPlayer) callTake() (joinCall, bool) {
	p.risks(nil, joinTaken{}, p.function, "") // C54: it takes nothing
	if rapid.Bool().Draw(p.rt, "claims") {
		text := p.nameClaims(1)[0]
		p.begin("%s, err = c.Claim(atOnce())", text)
		claim, err := p.Claim(atOnce())
		p.returned()
		p.saw(outcome(claim.Item, claim.Priority, err), "outcome(%s.Item, %[1]s.Priority, err)", text)
		if err != nil {
			return p.taken(err, nil, nil)
		}
		return p.taken(nil, []joinEntry{claim.Item}, []worker.Claim[joinEntry]{claim}, text)
	}
	p.begin("c.Take(atOnce())")
	key, value, err := p.Take(atOnce())
	p.returned(key, value, err)
	if err != nil {
		return p.taken(err, nil, nil)
	}
	return p.taken(nil, []joinEntry{{Key: key, Value: value}}, nil)
}

func (p *joinPlayer) callClaimBatch() (joinCall, bool) {
	p.risks(nil, joinTaken{}, p.function, "") // C54: it takes nothing
	claims := make([]worker.Claim[joinEntry], rapid.IntRange(1, 5).Draw(p.rt, "size"))
	texts := p.nameClaims(len(claims))
	p.begin("c.ClaimBatch(atOnce(), %s)", sliceOf(texts))
	n, err := p.ClaimBatch(atOnce(), claims)
	p.returned(n, err)
	p.saw(entriesOf(claims), "entriesOf(%s)", sliceOf(texts))
	var entries []joinEntry
	for _, claim := range claims[:n] {
		entries = append(entries, claim.Item)
	}
	return p.taken(err, entries, claims, texts...)
}

// nameClaims returns the names of new claims.
func (p *joinPlayer) nameClaims(n int) (texts []string) {
	for range n {
		texts = append(texts, code("c.claims[%d]", p.claimed))
		p.claimed++
	}
	return texts
}

// sliceOf returns the slice of some named claims.
func sliceOf(texts []string) string {
	first := strings.TrimSuffix(texts[0], "]")
	return code("%s:][:%d]", first, len(texts))
}

// drawTaken draws a key in processing. It is no longer taken.
func (p *joinPlayer) drawTaken() (key any, t joinTaken, is bool) {
	var keys []any
	for _, key := range p.keys {
		if _, is := p.claims[key]; is {
			keys = append(keys, key)
		}
	}
	if keys == nil {
		return nil, t, false
	}
	key = rapid.SampledFrom(keys).Draw(p.rt, "taken")
	t = p.claims[key]
	delete(p.claims, key)
	return key, t, true
}

func (p *joinPlayer) callDone() (joinCall, bool) {
	key, t, is := p.drawTaken()
	if !is {
		return joinCall{}, false
	}
	err, first := error(nil), ""
	batch := t.claim != nil && rapid.Bool().Draw(p.rt, "DoneClaims")
	if t.claim == nil || batch {
		first = "Hash Group"
	}
	p.risks(key, t, first, "", func(m *joinModel) string { m.Done(key); return "" }) // C55
	switch {
	case t.claim == nil:
		p.end(key, t)
	case batch:
		p.begin("c.DoneClaims([]worker.Claim[joinEntry]{%s})", t.text)
		err = p.DoneClaims([]worker.Claim[joinEntry]{*t.claim})
		p.returned(err)
	default:
		err = p.end(key, t)
	}
	return joinCall{keys: []any{key}, play: func(m *joinModel) string {
		if err != nil {
			return err.Error()
		}
		m.Done(key)
		return ""
	}}, true
}

func (p *joinPlayer) callPutBack() (joinCall, bool) {
	return p.giveBack("PutBack Release()", p.PutBack, worker.Claim[joinEntry].Release, func(k *joinKey) time.Duration { return 0 })
}

func (p *joinPlayer) callRetry() (joinCall, bool) {
	return p.giveBack("Retry Retry()", p.Retry, worker.Claim[joinEntry].Retry, func(k *joinKey) time.Duration {
		k.failures++
		return min(firstBackoff<<(k.failures-1), longestBackoff)
	})
}

func (p *joinPlayer) callRequeueAfter() (joinCall, bool) {
	after := drawDuration(p.rt, "after", 0, 5*time.Second, time.Minute)
	return p.giveBack(code("- RequeueAfter(%s)", goOf(after)), nil, func(c worker.Claim[joinEntry]) error { return c.RequeueAfter(after) },
		func(k *joinKey) time.Duration { k.failures = 0; return after })
}

// giveBack ends a processing by its claim or, without one, by its key and
// value. Delay returns how long the value is delayed.
func (p *joinPlayer) giveBack(text string, byKey func(key any, value string) error, byClaim func(worker.Claim[joinEntry]) error,
	delay func(k *joinKey) time.Duration,
) (joinCall, bool) {
	key, t, is := p.drawTaken()
	switch {
	case !is:
		return joinCall{}, false
	case t.claim == nil && byKey == nil:
		p.claims[key] = t
		return joinCall{}, false
	}
	if p.possible[0].closed || t.claim != nil && p.setup.Weighed && p.function == "Weight" {
		p.disarm() // whose the value is, or its weight, would not be known
	}
	priority, err := 0, error(nil)
	back := func(delays bool) func(m *joinModel) string {
		return func(m *joinModel) string {
			k := m.keys[key]
			k.canceled = k.canceled || p.isDropped(k.taken)
			m.dropped--
			d := delay(k)
			if !delays {
				d = 0
			}
			m.GiveBack(key, priority, d)
			return ""
		}
	}
	all, first := []func(m *joinModel) string{back(true)}, "Hash Group GroupPolicy Weight When" // C54
	if strings.Contains("Now When Forget", p.function) {
		all = append(all, back(false))
	}
	if t.claim != nil {
		priority, first = t.claim.Priority, "" // C58
	}
	p.risks(key, t, first, "Now", all...)
	onKey, onClaim, _ := strings.Cut(text, " ")
	if t.claim != nil {
		p.begin("%s.%s", t.text, onClaim)
		err = byClaim(*t.claim)
	} else {
		p.begin("c.%s(%s, %q)", onKey, goOf(key), t.value)
		if err = byKey(key, t.value); err != nil {
			p.claims[key] = t // it is still in processing
		}
	}
	p.returned(err)
	p.left(err == nil, -1)
	return joinCall{keys: []any{key}, wait: longestBackoff, play: func(m *joinModel) string {
		k := m.keys[key]
		k.canceled = k.canceled || p.isDropped(k.taken)
		if err == nil {
			if !m.accepts() && !k.canceled && (t.claim == nil || delay(&joinKey{}) > 0) {
				return "taken back after a shutdown"
			}
			m.GiveBack(key, priority, delay(k))
			return ""
		}
		if m.overlaps {
			k.failures = -1 // the shutdown began after the call of the limiter
		}
		if k.left = k.left || !k.canceled; t.claim != nil {
			k.taken, k.canceled = "", false // the value is the player's
		}
		if m.accepts() {
			return err.Error()
		}
		return ""
	}}, true
}

// callPeek only reads.
func (p *joinPlayer) callPeek() (joinCall, bool) {
	key := p.drawKey()
	if p.setup.Readable {
		p.begin("caught(func() { c.Peek(%s) })", goOf(key))
		p.peek(key)
		p.returned()
	}
	p.begin("c.Stats()")
	p.Stats()
	p.returned()
	return joinCall{keys: []any{}, play: noFault}, true
}

func (p *joinPlayer) callPause() (joinCall, bool) {
	p.until = 0 // all models have the same pauses
	group := tenantOf(p.drawKey())
	_, paused := p.possible[0].pauses[group]
	change, play, text := p.Pause, func(m *joinModel) { m.paused = true }, "Pause()"
	switch n := rapid.IntRange(0, 3).Draw(p.rt, "kind"); {
	case p.possible[0].paused:
		change, play, text = p.Resume, func(m *joinModel) { m.paused = false }, "Resume()"
	case paused:
		change, play, text = func() { p.ResumeGroup(group) }, func(m *joinModel) { delete(m.pauses, group) }, code("ResumeGroup(%q)", group)
	case p.isRated() && !p.over && n == 1:
		r := rapid.SampledFrom(slowRates).Draw(p.rt, "rate")
		change, play, text = func() { p.SetRate(r) }, func(m *joinModel) { m.setRate(r) }, code("SetRate(%s)", goOf(r))
	case n == 2 && p.setup.Grouped: // C70
		limit := rapid.IntRange(0, 2).Draw(p.rt, "limit")
		change, play, text = func() { p.setLimit(limit) }, func(m *joinModel) { m.Limit = limit }, code("setLimit(%d)", limit)
	case n > 0 && p.setup.Grouped:
		d, until := drawDuration(p.rt, "pause", 0, 3*time.Second, time.Minute), "time.Time{}"
		end := p.possible[0].from(d)
		if d > 0 {
			until = code("c.clock.Now().Add(%s)", goOf(d))
		}
		change, play, text = func() { p.PauseGroup(group, end) }, func(m *joinModel) { m.pauses[group] = end }, code("PauseGroup(%q, %s)", group, until)
	}
	p.begin("c.%s", text)
	change()
	p.returned()
	return joinCall{keys: []any{}, play: func(m *joinModel) string { play(m); return "" }}, true
}

func (p *joinPlayer) isRated() bool {
	return p.setup.Rate != shardq.Rate{} || p.setup.GroupRate != shardq.Rate{}
}

func (p *joinPlayer) callShutDown() (joinCall, bool) {
	if p.inClock || rapid.IntRange(0, 9).Draw(p.rt, "rarely") < 9 {
		return joinCall{}, false
	}
	p.panics = p.parks && len(p.puts)+len(p.takes)+len(p.drainers) == 0 && rapid.Bool().Draw(p.rt, "panics") // in this goroutine
	if p.panics {
		p.write("c.panics = true")
	}
	p.shutDown()
	p.panics = false
	return joinCall{play: func(m *joinModel) string {
		return m.Close(shutDown, nil)
	}}, true
}

func (p *joinPlayer) shutDown() {
	p.begin("caught(c.ShutDown)")
	caught(p.ShutDown)
	p.returned()
	p.over = true
}

// A ShutDown treats what is delayed as this drain does.
var shutDown = shardq.DrainOptions{Delayed: shardq.RunDelayed, Retries: shardq.RefuseRetries}

// playDrain begins a drain. It does not wait for the end.
func (p *joinPlayer) playDrain(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "rarely") < 9 {
		p.skip(rt)
	}
	o := shardq.DrainOptions{
		Delayed: rapid.SampledFrom([]shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed, shardq.AwaitDelayed}).Draw(rt, "delayed"),
		Retries: rapid.SampledFrom([]shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries}).Draw(rt, "retries"),
	}
	takesLeft := rapid.Bool().Draw(rt, "takes what is left")
	p.begin("c.drain(%s, %v)", goOf(o), takesLeft)
	dropped, left, err := p.drain(o, takesLeft)
	p.returned(dropped, left, err)
	p.left(true, len(dropped)+len(left))
	p.settle(rt, joinCall{play: func(m *joinModel) string {
		fault := m.Close(o, valuesByKey(dropped))
		if takesLeft && fault == "" {
			fault = m.Left(valuesByKey(left), p.parks)
		}
		if err == nil {
			m.retries = shardq.RefuseRetries
		}
		return fault
	}}, nil)
}

// passTime steps the clock, by preference to the end of a wait or to the tick
// before.
func (p *joinPlayer) passTime(rt *rapid.T) {
	next := p.possible[0].Next()
	p.step(rt, drawDuration(rt, "step", next, max(next-time.Millisecond, 0), time.Second, 10*time.Second, 5*time.Minute))
}

func (p *joinPlayer) step(rt *rapid.T, step time.Duration) {
	p.write("c.clock.Step(%s)", goOf(step))
	p.clock.Step(step)
	p.settle(rt, joinCall{play: func(m *joinModel) string { m.Step(step); return "" }}, nil)
}

// finish shuts the coalescer down, and takes what is left.
func (p *joinPlayer) finish(rt *rapid.T) {
	p.rt = rt
	do := func(text string, change func(), play func(m *joinModel)) {
		if text != "" {
			p.write("%s", text)
		}
		change()
		p.settle(rt, joinCall{keys: []any{}, play: func(m *joinModel) string { play(m); return "" }}, nil)
	}
	do("c.Resume()", p.Resume, func(m *joinModel) { m.paused = false })
	for group := range p.possible[0].pauses {
		do(code("c.ResumeGroup(%q)", group), func() { p.ResumeGroup(group) }, func(m *joinModel) { delete(m.pauses, group) })
	}
	p.shutDown()
	p.settle(rt, joinCall{play: func(m *joinModel) string { return m.Close(shutDown, nil) }}, nil)
	for over := false; !over; {
		for len(p.claims) > 0 { // who is parked may take meanwhile
			for key, t := range p.claims {
				delete(p.claims, key)
				do("", func() { _ = p.end(key, t) }, func(m *joinModel) { m.Done(key) })
			}
		}
		if p.isRated() {
			if p.step(rt, time.Minute); len(p.claims) > 0 {
				continue // who was parked has the token
			}
		}
		call, _ := p.catch(func() (joinCall, bool) {
			p.begin("c.Take(t.Context())")
			key, value, err := p.Take(context.Background())
			p.returned(key, value, err)
			over = err != nil
			return p.taken(err, []joinEntry{{Key: key, Value: value}}, nil)
		})
		p.settle(rt, call, nil)
	}
	if p.Len() > 0 || p.Stats().Held > 0 {
		p.write("require.Zero(t, c.Len()+c.Stats().Held)")
		rt.Fatalf("something is left: %+v", p.Stats())
	}
	if left, err := p.Drain(context.Background(), shardq.DrainOptions{}); err != nil || left != nil {
		p.write("require.Equal(t, %q, outcome(c.Drain(t.Context(), shardq.DrainOptions{})))", outcome(nil, nil))
		rt.Fatalf("a Drain at the end returned %v, %v", left, err)
	}
}

// end ends a processing by its claim or, without one, by its key.
func (p *joinPlayer) end(key any, t joinTaken) (err error) {
	if t.claim != nil {
		p.begin("%s.Done()", t.text)
		err = t.claim.Done()
		p.returned(err)
	} else {
		p.begin("c.Done(%s)", goOf(key))
		p.Done(key)
		p.returned()
	}
	return err
}
