package contract

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// Calls that are made at once take effect in any order, and parked consumers may
// get items in between. The player tries the orders on copies of the model, and
// goes on with one that agrees with all that can be seen. From then on the order
// of the ready items is unknown.

// A result is that of an action which was carried out.
type result struct {
	action
	got any
}

// join keeps a call to be made at once with others, and reports whether it did.
func (p *player[T]) join(c call) (joined bool) {
	has := func(letters, some string) bool { return strings.ContainsAny(letters, some) }
	meet := func(some, others string) bool {
		return has(string(c.letter), some) && has(p.joinedLetters, others) || has(string(c.letter), others) && has(p.joinedLetters, some)
	}
	if p.joining == 0 || !strings.ContainsRune("AWRTKNDderqaPpofMXhQz", rune(c.letter)) {
		return false
	}
	switch { // with other options, the order would be felt later
	case c.letter == 'T' && len(c.given) > 5:
		c.given = c.given[:1] + "0000" + c.given[5:6] // what it returns says which add has opened the window
	case c.letter == 'M' && len(c.given) > 6:
		c.given = c.given[:1] + "00000" + c.given[6:7]
	}
	a, ok := p.act(c)
	// A part of a batch may come before the end. Metrics and a Drain tell what was
	// dropped from what was refused.
	tells := p.setup.is("ages", "metrics") || p.model.ends.retries || len(p.model.ends.drains) > 1
	// The later of two SetRates counts. An end of a claim that a Done overtakes has
	// asked the limiter all the same, and so has an add that a Cancel overtakes. If an
	// item was taken between its add and a Cancel, no result says that its window is closed.
	if !ok || p.hides(c, meet("R", "AWRTM")) || meet("K", "RTM") || meet("X", "fM") || tells && c.letter == 'X' || meet("dD", "erqf") || meet("z", "zX") {
		return false
	}
	p.joined = append(p.joined, a)
	p.joinedLetters += string(c.letter)
	p.joining--
	return true
}

// hides reports whether an add may come before or after a parked consumer takes an
// item that waits for a backoff. Only then the add joins the backoff, which shows at
// its end.
func (p *player[T]) hides(c call, besideBackoff bool) bool { // C28
	backsOff := func(item string) bool { return p.model.entry(item).backsOff }
	return len(p.parked) > 0 && strings.ContainsRune("AWRTM", rune(c.letter)) &&
		(besideBackoff && p.setup.is("keep backoff", "yes") || slices.ContainsFunc(p.batch(c), backsOff))
}

// playJoined makes the calls that were kept.
func (p *player[T]) playJoined() {
	actions := p.joined
	p.spread = len(p.parked) > 0 && len(actions) > 1 || p.spreads(p.joinedLetters)
	setsRate := strings.Contains(p.joinedLetters, "z")
	p.joined, p.joinedLetters, p.joining = nil, "", 0
	switch len(actions) {
	case 0:
		return
	case 1:
		p.carryOut(actions[0])
		p.settle()
		return
	}
	got := make([]any, len(actions))
	first := p.names + 1
	for i, a := range actions {
		p.names++
		p.writeStart(map[bool]string{true: a.code + "; return results(nil)", false: "return " + a.statement()}[a.void])
		go func() { got[i] = a.on() }()
	}
	synctest.Wait()
	p.wait()
	p.chance = true
	for i, a := range actions {
		p.write("requireReturned(luck{t}, call[%d], %s)", first+i, p.literal(got[i]))
		p.results = append(p.results, result{a, got[i]})
	}
	p.settle()
	p.forgetDone()
	if setsRate { // which takes it has counted is unknown, until there is no rate
		p.perform(call{callKindOf('z'), ""})
	}
}

// explain finds an order in which the calls and the hand-outs may have happened.
func (p *player[T]) explain() { // C2, C37
	if len(p.results) == 0 {
		return
	}
	if p.panicked {
		p.explainPanic()
		return
	}
	outcomes := slices.DeleteFunc(p.copyOutcomes(), func(s *consumer[T]) bool { return s.err != nil || len(s.items) == 0 })
	before := p.model.moment
	begin := p.model.clone()
	begin.disordered, p.shared = true, true
	m, handOuts := p.search(begin, p.results, outcomes, nil)
	if m == nil {
		var returned []any
		for _, r := range p.results {
			returned = append(returned, r.got)
		}
		p.shows("counted(q.Stats())", counted(p.queue.Stats()), "no order of the calls (C37) explains %+v, and that they returned %v", counted(p.queue.Stats()), returned)
	}
	for _, e := range m.items { // which was first is unknown
		e.place, e.filed = min(e.place, before), min(e.filed, before)
	}
	m.overlap()
	p.followMarks(m)
	p.model, p.results, p.taking = m, nil, true
	p.tookAll(handOuts)
}

// followMarks takes over how the watermarks were crossed in between.
func (p *player[T]) followMarks(m *model) { // C41
	p.locked(func() {
		for _, high := range p.marks {
			if high == m.bounds.isHigh {
				return // a wrong one
			}
			m.bounds.isHigh = high
			m.bounds.reported = append(m.bounds.reported, high)
		}
	})
}

// A handOut gives an item to a consumer.
type handOut[T comparable] struct {
	to     *consumer[T]
	claims []worker.Claim[T] // the one that it has returned, if any
	ofTurn
}

func (p *player[T]) tookAll(handOuts []handOut[T]) {
	for _, h := range handOuts {
		p.took(h.to, h.turn)
	}
}

// search tries the next step: a call or a hand-out.
func (p *player[T]) search(m *model, left []result, outcomes []*consumer[T], handOuts []handOut[T]) (*model, []handOut[T]) {
	taken := func(s *consumer[T]) (n int) {
		for _, h := range handOuts {
			if h.to == s {
				n++
			}
		}
		return n
	}
	over := len(left) == 0
	for i, r := range left {
		c := m.clone()
		if r.in(c) != r.got {
			continue
		}
		c.settleEnds()
		if found, by := p.search(c, slices.Delete(slices.Clone(left), i, i+1), outcomes, handOuts); found != nil {
			return found, by
		}
	}
	for _, s := range outcomes {
		n := taken(s)
		if n == len(s.items) {
			continue
		}
		over = false
		priority := (*int)(nil)
		if len(s.priorities) > n {
			priority = &s.priorities[n]
		}
		if c := m.clone(); c.take(s.items[n], priority) {
			took := handOut[T]{s, s.claims[min(n, len(s.claims)):min(n+1, len(s.claims))], ofTurn{s.items[n], c.entry(s.items[n]).turns}}
			if found, by := p.search(c, left, outcomes, append(slices.Clip(handOuts), took)); found != nil {
				return found, by
			}
		}
	}
	if over && p.agrees(m, handOuts) {
		return m, handOuts
	}
	return nil, nil
}

// agrees compares what can be seen without side effects.
func (p *player[T]) agrees(m *model, handOuts []handOut[T]) bool {
	if len(p.copyOutcomes()) < len(p.parked) && m.mustTake() {
		return false
	}
	if !reflect.DeepEqual(counted(p.queue.Stats()), m.stats()) {
		return false
	}
	for item, e := range m.items {
		row, held := p.lookup(item)
		if held != e.held() || p.queue.NumRequeues(itemOf[T](item)) != m.limiter[item] {
			return false
		}
		if held && (row.State != stateOf(e) || row.Dirty != (e.phase == dirty) || !p.showsDeadline(row, e) || row.Priority != p.shownPriority(e)) {
			return false
		}
	}
	claims := slices.Clone(p.claims)
	for _, h := range handOuts {
		for _, claim := range h.claims {
			claims = append(claims, keptClaim[T]{claim, h.ofTurn, ""})
		}
	}
	for _, k := range claims {
		if live := m.isLive(k.ofTurn); k.Valid() != live || k.Canceled() != (live && m.entry(k.item).canceled) {
			return false
		}
	}
	for _, w := range m.pending {
		as := false
		p.locked(func() {
			as = w.mayEnd || w.returned == w.ended && (w.err == nil) == (w.wantErr == nil) && errors.Is(w.err, w.wantErr)
		})
		if !as {
			return false
		}
	}
	agree := false
	p.locked(func() { agree = sameAdds(p.adds, m.reported) })
	return agree && p.wouldPass(m)
}

// wouldPass reports whether the checks that need no order agree with a model.
func (p *player[T]) wouldPass(m *model) (passes bool) {
	before, lines := p.model, p.lines
	p.model, p.trying = m, true
	defer func() {
		p.model, p.lines, p.trying = before, lines, false
		if r := recover(); r != nil && r != errDisagrees {
			panic(r)
		}
	}()
	p.checkUnordered(p.queue.Stats())
	return true
}

func sameAdds(a, b []stats.Add[string]) bool {
	count := func(adds []stats.Add[string]) map[stats.Add[string]]int {
		by := map[stats.Add[string]]int{}
		for _, add := range adds {
			by[add]++
		}
		return by
	}
	return maps.Equal(count(a), count(b))
}
