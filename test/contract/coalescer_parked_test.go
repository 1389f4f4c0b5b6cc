package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/worker"
)

// joinParking are the calls to a coalescer that wait, each in a goroutine of its
// own. While calls wait, no other call runs in the middle of one. After each step,
// those have returned that the contract lets return, and no others.
type joinParking struct {
	parks                 bool
	over                  bool          // ShutDown was called, or a drain has ended in time
	puts, takes, drainers []*joinParked // in the order of the calls
	parked                int           // calls in Go
}

type joinParked struct {
	*parkedCall
	text     string // in Go
	key      any    // of a PutContext
	value    string
	options  coalesce.PutOptions
	canceled bool
	known    bool // it needs no room, because its key has a value
	from     *joinSource
	offset   int64
	at       time.Time
	seen     int // the values that the model has taken

	err     error
	entries []joinEntry
	claims  []worker.Claim[joinEntry] // nil for Take
	texts   []string                  // of the claims
}

func (w *joinParked) returned() bool { return w.result != "" }

// mustQueue reports whether a put that needs room comes behind others.
func (p *joinPlayer) mustQueue(m *joinModel, key any) bool {
	return len(p.puts) > 0 && (m.Weighed || m.keys[key].pending == "")
}

// park makes a call in a goroutine. In Go, its results are those of text.
func (p *joinPlayer) park(list *[]*joinParked, w *joinParked, call func(ctx context.Context) []any, format string, arguments ...any) {
	if len(*list) >= 3 {
		p.skip(p.rt)
	}
	p.parked++
	w.text = code("call%d", p.parked)
	p.write("%s := park(func(ctx context.Context) string { return %s })", w.text, code(format, arguments...))
	p.write("defer %s.cancel()", w.text)
	*list = append(*list, w)
	w.parkedCall = park(func(ctx context.Context) string {
		results := call(ctx)
		w.err, _ = results[len(results)-1].(error)
		if w.claims != nil {
			return outcome(results...) + entriesOf(w.claims)
		}
		return outcome(results...)
	})
}

func (p *joinPlayer) parkedCalls() map[string]func() {
	return map[string]func(){
		"PutContext parks": func() {
			w := &joinParked{key: p.drawKey(), from: p.drawSource(), at: p.clock.Now()}
			if len(p.puts) > 0 && rapid.Bool().Draw(p.rt, "key of the first") {
				w.key = p.puts[0].key
			}
			w.value, w.options = p.nextValue(w.key), p.drawOptions()
			w.known = p.possible[0].keys[w.key].pending != "" && !p.possible[0].Weighed
			if w.from == nil {
				p.park(&p.puts, w, func(ctx context.Context) []any { return []any{p.PutContext(ctx, w.key, w.value, w.options)} },
					"outcome(c.PutContext(ctx, %s, %q, %s))", goOf(w.key), w.value, goOf(w.options))
				return
			}
			w.offset = w.from.next() + rapid.Int64Range(0, 2).Draw(p.rt, "gap")
			p.park(&p.puts, w, func(ctx context.Context) []any {
				return []any{w.from.PutContext(ctx, w.key, w.value, w.offset, w.options)}
			}, "outcome(%s.PutContext(ctx, %s, %q, %d, %s))", w.from.text, goOf(w.key), w.value, w.offset, goOf(w.options))
			w.from.putting = true
		},
		"Take parks": func() {
			w := &joinParked{}
			p.park(&p.takes, w, func(ctx context.Context) []any {
				key, value, err := p.Take(ctx)
				w.entries = []joinEntry{{Key: key, Value: value}}
				return []any{key, value, err}
			}, "outcome(c.Take(ctx))")
		},
		"ClaimBatch parks": func() {
			w := &joinParked{claims: make([]worker.Claim[joinEntry], rapid.IntRange(1, 3).Draw(p.rt, "size"))}
			w.texts = p.nameClaims(len(w.claims))
			p.park(&p.takes, w, func(ctx context.Context) []any {
				n, err := p.ClaimBatch(ctx, w.claims)
				for _, claim := range w.claims[:n] {
					w.entries = append(w.entries, claim.Item)
				}
				return []any{n, err}
			}, "outcome(c.ClaimBatch(ctx, %s)) + entriesOf(%[1]s)", sliceOf(w.texts))
		},
		"Drain parks": func() {
			if rapid.IntRange(0, 9).Draw(p.rt, "rarely") < 9 {
				p.skip(p.rt)
			}
			o := shardq.DrainOptions{
				Delayed: rapid.SampledFrom([]shardq.DelayedPolicy{shardq.RunDelayed, shardq.AwaitDelayed}).Draw(p.rt, "delayed"),
				Retries: rapid.SampledFrom([]shardq.RetryPolicy{shardq.RefuseRetries, shardq.AcceptRetries}).Draw(p.rt, "retries"),
			}
			w := &joinParked{}
			p.park(&p.drainers, w, func(ctx context.Context) []any {
				entries, err := p.Drain(ctx, o)
				w.entries = entries
				return []any{entries, err}
			}, "outcome(c.Drain(ctx, %s))", goOf(o))
			_ = p.possible[0].Close(o, nil)
		},
		"end a context": func() {
			all := slices.Concat(p.puts, p.takes, p.drainers)
			if len(all) == 0 {
				p.skip(p.rt)
				return
			}
			w := rapid.SampledFrom(all).Draw(p.rt, "call")
			w.canceled = true
			p.write("%s.cancel()", w.text)
			w.cancel()
		},
	}
}

// settleParked tells the model what parked calls have done since the last step,
// and says what is wrong with that.
func (p *joinPlayer) settleParked(m *joinModel) (fault string) {
	synctest.Wait()
	p.wait()
	calls := slices.Concat(p.puts, p.takes, p.drainers)
	for p.takeOne(m) || p.admitOne(m) {
	}
	if slices.ContainsFunc(p.drainers, func(w *joinParked) bool { return w.returned() && w.err == nil }) {
		p.over, m.retries = true, shardq.RefuseRetries
	}
	for _, list := range []*[]*joinParked{&p.puts, &p.takes, &p.drainers} {
		for _, w := range *list {
			if fault = p.checkParked(m, w); fault != "" {
				return code("require.NotEqual(t, %q, %s.result) // %s", w.result, w.text, strings.ReplaceAll(fault, "\n", "\n// "))
			}
		}
		*list = slices.DeleteFunc(*list, func(w *joinParked) bool {
			if w.returned() && w.from != nil {
				w.from.putting = false
			}
			return w.returned()
		})
	}
	for _, w := range calls {
		if w.returned() {
			p.saw(w.result, "%s.result", w.text)
		}
	}
	return p.compare(m)
}

// admitOne lets the first PutContext put its value if there is room (C56).
func (p *joinPlayer) admitOne(m *joinModel) bool { // C40, C56
	first := true
	for i, w := range p.puts {
		if w.returned() && w.err != nil {
			continue
		}
		isFirst := first
		first = false
		if w.returned() && (w.known || isFirst && m.hasRoomFor(w)) && m.Put(w.key, w.value, w.options) == "" {
			p.puts = slices.Delete(p.puts, i, i+1)
			if w.from != nil {
				w.from.putting = false
				w.from.read(w.offset, w.value, w.at)
				p.from[w.value] = w.from
			}
			return true
		}
	}
	return false
}

func (m *joinModel) hasRoomFor(w *joinParked) bool { // C56
	weight := m.weight()
	return m.Capacity == 0 || weight == 0 || weight+m.weightOf(w.value) <= m.Capacity
}

func (m *joinModel) weightOf(value string) int {
	if m.Weighed {
		return len(value)
	}
	return 1
}

// takeOne lets a call take its next value, if the model can.
func (p *joinPlayer) takeOne(m *joinModel) bool { // C54
	for _, w := range p.takes {
		if !w.returned() || w.err != nil || w.seen == len(w.entries) {
			continue
		}
		e := w.entries[w.seen]
		if k := m.keys[e.Key]; k.pending != e.Value || k.isBusy() || m.Take(e.Key, e.Value) != "" {
			continue
		}
		p.left(true, 1)
		p.claims[e.Key] = joinTaken{value: e.Value}
		if w.claims != nil {
			p.claims[e.Key] = joinTaken{e.Value, &w.claims[w.seen], w.texts[w.seen]}
		}
		w.seen++
		return true
	}
	return false
}

func (m *joinModel) isEmpty() bool {
	return m.count(func(k *joinKey) bool { return k.pending != "" || k.isBusy() }) == 0
}

// checkParked checks that a call has returned if it must, and as it must.
func (p *joinPlayer) checkParked(m *joinModel, w *joinParked) (fault string) { // C4, C40, C42, C86
	wrong := func() string { return fmt.Sprintf("closed %v, with\n%s", m.closed, m.describe()) }
	isTake, isPut := slices.Contains(p.takes, w), slices.Contains(p.puts, w)
	ready := false
	for key, k := range m.keys {
		ready = ready || k.isReady() && m.lets(key) && m.wakesAt(key) <= m.clock() && !k.vague && !k.ghost
	}
	switch {
	case w.returned() && w.err == nil && isTake && w.seen < len(w.entries), w.returned() && w.err == nil && isPut:
		return wrong()
	case w.returned() && w.err == nil && !isTake && (!m.isEmpty() || len(w.entries) > 0): // it drops nothing
		return wrong()
	case w.returned() && w.err == coalesce.ErrSourceClosed && isPut && w.from.closed: // C86
		return ""
	case w.returned() && w.err != nil && !(w.canceled && errors.Is(w.err, context.Canceled)) && !(m.closed && errors.Is(w.err, shardq.ErrShutDown) && !(isTake && ready)):
		return wrong()
	case w.returned():
		return ""
	case w.canceled, isTake && (ready || p.over && m.isEmpty()), isPut && m.closed, !isTake && !isPut && m.isEmpty():
		return wrong()
	case isPut && w == p.puts[0] && m.hasRoomFor(w):
		return wrong()
	}
	return ""
}

func (m *joinModel) describe() string {
	var all []string
	for key, k := range m.keys {
		all = append(all, fmt.Sprintf("%v: %+v", key, *k))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// release ends all calls, also after a step that has failed.
func (p *joinPlayer) release() {
	for _, w := range slices.Concat(p.puts, p.takes, p.drainers) {
		w.cancel()
	}
	caught(p.ShutDown)
	synctest.Wait()
}
