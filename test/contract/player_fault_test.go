package contract

import (
	"slices"
	"strings"
	"testing/synctest"

	"github.com/shardq/shardq"
)

func (p *player[T]) hasFaults() bool { return p.setup.is("faults", "yes") }

// user is called by the functions of the user.
func (p *player[T]) user(name string) {
	if p.hasFaults() {
		p.faults.call(name)
	}
}

// armFor lets a function panic during the next call.
func (p *player[T]) armFor(c call) {
	if p.hasFaults() {
		p.armed = true
		var left int
		functions := strings.Fields("Hash Group GroupPolicy Now Now Now AfterFunc Reset Stop When Forget NumRequeues OnWatermark OnMisuse")
		p.function, left = functions[modulo(c.number()+10*c.argument('n', 1), len(functions))], 1+modulo(c.argument('n', 1), 3)
		p.write("f.arm(%q, %d)", p.function, left)
		p.faults.arm(p.function, left)
	}
}

// disarm is called when all goroutines are blocked.
func (p *player[T]) disarm() {
	if p.armed {
		p.armed = false
		p.write("f.arm(\"\", 0)\nq.AddBatch(nil, shardq.AddOptions{})\nsynctest.Wait()")
		p.faults.arm("", 0)
		p.queue.AddBatch(nil, shardq.AddOptions{}) // C64: it calls the hooks that the panic kept from being called
		synctest.Wait()
		p.noteFaults()
	}
}

// noteFaults finds out whether an AddContext that panicked after its wait has
// accepted its item.
func (p *player[T]) noteFaults() { // C17
	for _, w := range p.model.bounds.waiters {
		p.locked(func() { w.panicked = w.returned && w.err == errInjected })
		if w.panicked {
			_, w.accepted = p.queue.Lookup(itemOf[T](w.item))
		}
	}
}

// survive finds out what a call has done that panicked: nothing, everything, or
// a part that the contract allows. No item is lost, handed out twice, or left in
// processing without an owner (C17). What does not show is what is usual.
func (p *player[T]) survive(a action) { // C17
	p.panicked, p.whole = true, a.in
	all := []func(m *model) any{func(*model) any { return nil }, a.in}
	switch {
	case a.ends:
		all = all[1:]
	case slices.Contains([]string{"AfterFunc", "Reset", "Stop", "OnWatermark", "OnMisuse", "OnAdd", "Forget"}, p.function):
		slices.Reverse(all)
	}
	for _, does := range slices.Concat(all, a.parts) {
		p.results = append(p.results, result{action{code: a.code, in: does}, nil})
	}
}

// explainPanic is explain for the one call that panicked.
func (p *player[T]) explainPanic() {
	outcomes := p.unmatched()
	all := p.model.clone()
	_ = p.whole(all)
	for _, r := range p.results {
		c := p.model.clone()
		c.disordered = c.disordered || len(p.parked)+len(c.bounds.waiters) > 0
		r.in(c)
		p.keepHistories(c, all)
		for c.admit() > 0 { // several were admitted at once
		}
		c.settleEnds()
		if m, handOuts := p.search(c, nil, outcomes, nil); m != nil {
			p.model, p.results, p.panicked, p.taking = m, nil, false, len(handOuts) > 0
			p.tookAll(handOuts)
			p.forgetDone()
			return
		}
	}
	p.shows("counted(q.Stats())", counted(p.queue.Stats()), "nothing that the contract allows (C17) explains %+v after a panic", counted(p.queue.Stats()))
}

// keepHistories takes over what the limiter has counted or forgotten: all that
// the call asks of it, or nothing. It is asked after the functions that choose
// the shard, and before the clock.
func (p *player[T]) keepHistories(c, all *model) { // C17, C28
	if slices.Contains([]string{"Hash", "Group", "GroupPolicy"}, p.function) {
		return
	}
	for item := range all.items {
		if n := p.queue.NumRequeues(itemOf[T](item)); n == p.model.limiter[item] || n == all.limiter[item] {
			c.limiter[item] = n
		}
	}
}
