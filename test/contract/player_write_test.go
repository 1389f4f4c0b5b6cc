package contract

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// A player writes its program down as a test in Go, which can be pasted into
// this package. It asserts what the model expects, and at the end what the queue
// does not do. Where chance decides, an assertion takes luck{t} for t.

// write adds a line of Go.
func (p *player[T]) write(format string, arguments ...any) {
	p.lines = append(p.lines, code(format, arguments...))
}

// wait adds the end of a step with other goroutines.
func (p *player[T]) wait() {
	const wait = "synctest.Wait()"
	if n := len(p.lines); n > p.settled && !strings.HasSuffix(p.lines[n-1], wait) {
		p.write(wait)
	}
}

// t is the test of an assertion.
func (p *player[T]) t() string {
	if p.chance {
		return "luck{t}"
	}
	return "t"
}

// differs ends the test because an expression is not what the model wants.
func (p *player[T]) differs(expression string, want any, format string, arguments ...any) {
	p.write("require.Equal(t, %s, %s)", p.literal(want), expression)
	p.fatalf(format, arguments...)
}

// shows is differs if only the wrong value is known.
func (p *player[T]) shows(expression string, wrong any, format string, arguments ...any) {
	p.write("require.NotEqual(t, %q, fmt.Sprint(%s))", fmt.Sprint(wrong), expression)
	p.fatalf(format, arguments...)
}

// returning is a call that returns what the model wants.
func (p *player[T]) returning(a action, want any) string {
	switch {
	case a.void:
		return a.code
	case want == nil:
		return code("require.NoError(%s, %s)", p.t(), a.code)
	}
	return code("require.Equal(%s, %s, %s)", p.t(), p.literal(want), a.code)
}

// imports are those that a program may need.
var imports = strings.Fields(`context errors fmt slices testing testing/synctest time github.com/stretchr/testify/require
	github.com/shardq/shardq github.com/shardq/shardq/clock github.com/shardq/shardq/internal/engine github.com/shardq/shardq/limiter
	github.com/shardq/shardq/shard github.com/shardq/shardq/stats github.com/shardq/shardq/worker`)

// story returns the program, as a text and in Go.
func (p *player[T]) story() string {
	text := p.prologue() + strings.Join(p.lines, "\n") + "\n})\n}"
	used := slices.DeleteFunc(slices.Clone(imports), func(path string) bool {
		return !strings.Contains(text, path[strings.LastIndexByte(path, '/')+1:]+".")
	})
	text = "package contract\nimport (\n\"" + strings.Join(used, "\"\n\"") + "\"\n)\n" + text
	if formatted, err := format.Source([]byte(text)); err == nil {
		text = string(formatted)
	}
	return fmt.Sprintf("program: %q\nin Go, for a new file of test/contract, whose name ends in _test.go:\n%s", program{p.setup, p.played}.text(), text)
}

func (p *player[T]) prologue() string {
	s, o := p.setup, p.options()
	var b strings.Builder
	write := func(format string, arguments ...any) { b.WriteString(code(format, arguments...) + "\n") }
	clocks, lines := map[string]string{"fake": "newFake()", "real": "clock.Real()", "wall": "clock.Wall()"}, strings.Join(p.lines, "")
	misuses := p.hasFaults() || strings.Contains(lines, "misused")
	write("func TestProgram(t *testing.T) {\nsynctest.Test(t, func(t *testing.T) {")
	write("c := %s", clocks[s.value("clock")])
	when := func(there bool, text string) {
		if there {
			write("%s", text)
		}
	}
	when(strings.Contains(lines, "began."), "began := c.Now()")
	when(strings.Contains(lines, "call["), "call := map[int]*[]any{}")
	when(strings.Contains(lines, "ok ="), "var ok bool")
	when(misuses || o.OnAdd != nil || o.Watermarks.High > 0, "journal := make(chan string, 1000)")
	when(p.hasFaults(), "var f faults")
	if o.Group != nil {
		write("policies := map[string]shardq.GroupPolicy{")
		for i, group := range groups {
			write("%q: %s,", group, p.literal(groupPolicies[p.firstPolicy(i)]))
		}
		write("}")
	}
	on := "c"
	if _, hooked := o.Clock.(hookedClock); hooked {
		on = "hookedClock{c, f.call}"
	}
	write("q := engine.Follow(shardq.MustNew(shardq.Options[%s]{\nClock: %s,", typeOf[T](), on)
	for _, field := range []struct {
		name  string
		value any
	}{
		{"Shards", o.Shards}, {"Tick", o.Tick}, {"Rate", o.Rate}, {"LowPriorityInterval", o.LowPriorityInterval},
		{"Capacity", o.Capacity}, {"KeepBackoff", o.KeepBackoff}, {"Ages", o.Ages}, {"Metrics", o.Metrics},
		{"StableRouting", o.StableRouting}, {"StuckAfter", o.StuckAfter},
	} {
		if !reflect.ValueOf(field.value).IsZero() {
			write("%s: %s,", field.name, p.literal(field.value))
		}
	}
	of, user := typeOf[T](), func(name string) string {
		if p.hasFaults() {
			return code("; f.call(%q)", name)
		}
		return ""
	}
	when(o.Hash != nil, code("Hash: func(i %s) uint64 { _ = i%s; return hashOf(i) },", of, user("Hash")))
	when(o.Group != nil, code("Group: func(i %s) string { _ = i%s; return groupOf(i) },", of, user("Group")))
	when(o.Group != nil, code("GroupPolicy: func(group string) shardq.GroupPolicy { _ = group%s; return policies[group] },", user("GroupPolicy")))
	when(o.Watermarks.High > 0, code(`Watermarks: shardq.Watermarks{Low: %d, High: %d, On: func(w shardq.Watermark) { journal <- fmt.Sprint("high is ", w.High)%s }},`, o.Watermarks.Low, o.Watermarks.High, user("OnWatermark")))
	when(o.OnStuck != nil, code("OnStuck: func(i stats.Item[%s]) { t.Log(i) },", of))
	when(o.OnAdd != nil, code(`OnAdd: func(a stats.Add[%s]) { journal <- fmt.Sprintf("%%+v", addOf(a))%s },`, of, user("OnAdd")))
	when(misuses, code(`OnMisuse: func(m shardq.Misuse[%s]) { journal <- nameOf(m.Item) + " is misused"%s },`, of, user("OnMisuse")))
	when(p.hasFaults(), code("RateLimiter: hookedLimiter[%s]{limiter.NewExponential[%[1]s](leastBackoff, mostBackoff), f.call},", of))
	when(!p.hasFaults(), code("RateLimiter: limiter.NewExponential[%s](leastBackoff, mostBackoff),", of))
	write("}), %s)\ndefer free(q)", p.literal(s.rules()))
	when(o.Group != nil, "defer clear(policies)")
	when(p.hasFaults(), "f.look = func() { q.Stats() }\ndefer f.arm(\"\", 0)")
	return b.String()
}

// cancels are the functions of a context that Go calls cancel1 and so on.
type canceler struct {
	context.CancelFunc
	name string
}

// newContext returns the context of a call, which Go names if the call takes it.
func (p *player[T]) newContext(limit time.Duration, text string) (ctx context.Context, cancel canceler) {
	p.names++
	name := "_"
	if cancel.name = code("cancel%d", p.names); strings.Contains(text, "ctx") {
		name = code("ctx%d", p.names)
	}
	if limit > 0 {
		ctx, cancel.CancelFunc = context.WithTimeout(context.Background(), limit)
		p.write("%s, %s := context.WithTimeout(t.Context(), %s)", name, cancel.name, p.literal(limit))
	} else {
		ctx, cancel.CancelFunc = context.WithCancel(context.Background())
		p.write("%s, %s := context.WithCancel(t.Context())", name, cancel.name)
	}
	p.write("defer %s()", cancel.name)
	return ctx, cancel
}

func (p *player[T]) cancelCall(cancel canceler) {
	p.write("%s()", cancel.name)
	cancel.CancelFunc()
}

// writeStart writes a call in a goroutine, with the latest context.
func (p *player[T]) writeStart(text string) (name string) {
	name = code("call[%d]", p.names)
	p.write("%s = start(func() []any { %s })", name, strings.ReplaceAll(text, "ctx", code("ctx%d", p.names)))
	return name
}

// newClaims returns the name of a slice for claims.
func (p *player[T]) newClaims(n int) (name string) {
	p.names++
	name = code("claims%d", p.names)
	p.write("%s := make([]worker.Claim[%s], %d)", name, typeOf[T](), n)
	return name
}

// code is fmt.Sprintf for Go.
func code(format string, arguments ...any) string { return fmt.Sprintf(format, arguments...) }

// literal writes a value, without the fields that are zero.
func (p *player[T]) literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case *string:
		return code("pointerTo(%q)", nameOf(v))
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, p.literal(item))
		}
		return code("[]any{%s}", strings.Join(items, ", "))
	case error:
		for name, err := range map[string]error{
			"shardq.ErrShutDown": shardq.ErrShutDown, "shardq.ErrFull": shardq.ErrFull, "shardq.ErrNotAgain": shardq.ErrNotAgain,
			"context.Canceled": context.Canceled, "context.DeadlineExceeded": context.DeadlineExceeded,
			"worker.ErrClaimEnded": worker.ErrClaimEnded, "errInjected": errInjected,
		} {
			if errors.Is(v, err) {
				return name
			}
		}
		return code("errors.New(%q)", v)
	case [2]error:
		return code("[2]error{%s, %s}", p.literal(v[0]), p.literal(v[1]))
	case []T:
		var items []string
		for _, item := range v {
			items = append(items, p.literal(item))
		}
		return code("[]%s{%s}", typeOf[T](), strings.Join(items, ", "))
	case time.Duration:
		for _, unit := range []struct {
			of   time.Duration
			name string
		}{{time.Hour, "Hour"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}} {
			if v != 0 && v%unit.of == 0 {
				return code("%d*time.%s", v/unit.of, unit.name)
			}
		}
		return code("%d", int64(v))
	case time.Time:
		return code("began.Add(%s)", p.literal(v.Sub(p.began)))
	}
	of := reflect.ValueOf(v)
	if of.Kind() != reflect.Struct {
		return code("%#v", v)
	}
	var fields []string
	for i := range of.NumField() {
		if field := of.Field(i); !field.IsZero() {
			fields = append(fields, of.Type().Field(i).Name+": "+p.literal(field.Interface()))
		}
	}
	return code("%T{%s}", v, strings.Join(fields, ", "))
}
