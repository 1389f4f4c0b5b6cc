package contract

import (
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// A joinRisk is a call in which a function of the user may panic, or has. No
// other call runs in its middle.
type joinRisk struct {
	function string // that is armed, or ""
	survived bool   // it has panicked
	untold   bool   // and has perhaps kept Watermarks.On from being called
	key      any    // that the call is about, or nil
	owed     joinTaken
	all      []func(m *joinModel) (fault string) // what the whole call may do
	first    string                              // the functions that are called before anything is done
	either   string                              // and those that are called at various moments
}

// armFor lets a function panic during the next call.
func (p *joinPlayer) armFor(name string) {
	calls := []string{"Put", "PutWith", "PutWith again", "Cancel", "Take", "ClaimBatch", "Done", "PutBack", "Retry", "RequeueAfter"}
	p.joinRisk = joinRisk{untold: p.untold}
	if p.parks || !slices.Contains(calls, name) || rapid.IntRange(0, 2).Draw(p.rt, "function panics") < 2 {
		return
	}
	functions := strings.Fields("Now When Forget NumRequeues AfterFunc Reset Stop OnAdd Weight Hash")
	if p.setup.Grouped {
		functions = append(functions[:len(functions)-1], "Group", "GroupPolicy")
	}
	p.until, p.function = 0, rapid.SampledFrom(functions).Draw(p.rt, "function")
	left := rapid.IntRange(1, 2).Draw(p.rt, "at")
	p.write("c.arm(%q, %d)", p.function, left)
	p.arm(p.function, left)
}

// risks says what the call under way may do.
func (p *joinPlayer) risks(key any, owed joinTaken, first, either string, all ...func(m *joinModel) string) {
	p.key, p.owed, p.first, p.either, p.all = key, owed, first, either, all
}

func (p *joinPlayer) hasFired() bool { return p.function != "" && p.name == "" }

func (p *joinPlayer) disarm() {
	if p.function != "" {
		p.write("c.arm(\"\", 0)")
		p.arm("", 0)
		p.function = ""
	}
}

// survive returns what a call may have done that has panicked: nothing, or
// everything. Merge has panicked before for the keys.
func (p *joinPlayer) survive(panicked any, keys []any) joinCall { // C17, C54
	text := p.endCall()
	if panicked != errInjected {
		return joinCall{play: func(*joinModel) string { return "a panic did not reach the caller" }}
	}
	p.survived, p.untold = true, true
	p.write("require.Panics(t, func() { %s })", text)
	all, may, splits := p.all, slices.Clone(p.all), p.function == "Weight"
	nothing := func(m *joinModel) string {
		for key, k := range m.keys { // C54: two values that were merging are taken one by one
			k.split = k.split || splits && (all == nil || key == p.key) && len(valuesOf(k.pending)) > 1
		}
		return ""
	}
	switch {
	case strings.Contains(p.first, p.function):
		may = []func(m *joinModel) string{nothing}
	case strings.Contains(p.either, p.function):
		may = append(may, nothing)
	}
	for i, does := range may {
		may[i] = func(m *joinModel) string {
			whole := m.clone()
			fault := does(m) + m.split(keys)
			if all == nil {
				return fault
			}
			before := *whole.keys[p.key]
			_ = all[0](whole)
			// C28: the limiter has done all that the call asks of it, or nothing. A
			// Retry of a canceled or dropped value asks it, and ends as Done.
			switch n := p.Queue().NumRequeues(p.key); {
			case n == before.failures, n == whole.keys[p.key].failures, (before.canceled || p.isDropped(before.taken)) && n == before.failures+1:
				m.keys[p.key].failures = n
			}
			return fault
		}
	}
	return joinCall{keys: []any{p.key}, play: may[0], or: may[1:]}
}

// keepOwed keeps a value in processing that the call has left there.
func (p *joinPlayer) keepOwed() { // C17
	if p.survived && p.owed.value != "" && p.possible[0].keys[p.key].isBusy() {
		p.claims[p.key] = p.owed
	}
}
