package contract

import (
	"context"
	"fmt"
	"go/format"
	"reflect"
	"strings"
	"time"
)

// A player writes its program down as a test in Go, which can be pasted into
// this package. Comments say what happened.

// write adds a line of Go.
func (p *player[T]) write(format string, arguments ...any) {
	p.lines = append(p.lines, code(format, arguments...))
}

// wait adds the end of a step with other goroutines.
func (p *player[T]) wait() {
	const wait = "; synctest.Wait()"
	if n := len(p.lines); n > p.noted && !strings.HasSuffix(p.lines[n-1], wait) {
		p.lines[n-1] += wait
	}
}

// note adds a result to the latest line.
func (p *player[T]) note(format string, arguments ...any) {
	if n := len(p.lines); n > p.noted {
		p.lines[n-1] += " //"
		p.noted = n
	}
	if n := len(p.lines); n > 0 {
		p.lines[n-1] += " " + code(format, arguments...)
	}
}

// story returns the program, as a text and in Go.
func (p *player[T]) story() string {
	text := p.prologue() + strings.Join(p.lines, "\n") + "\n})\n}"
	if formatted, err := format.Source([]byte(text)); err == nil {
		text = string(formatted)
	}
	return fmt.Sprintf("program: %q\n%s", program{p.setup, p.played}.text(), text)
}

func (p *player[T]) prologue() string {
	s, o := p.setup, p.options()
	var b strings.Builder
	write := func(format string, arguments ...any) { b.WriteString(code(format, arguments...) + "\n") }
	clocks := map[string]string{"fake": "newFake()", "real": "clock.Real()", "wall": "clock.Wall()"}
	write("func TestProgram(t *testing.T) {\nsynctest.Test(t, func(t *testing.T) {")
	if write("c := %s", clocks[s.value("clock")]); strings.Contains(strings.Join(p.lines, ""), "began.") {
		write("began := c.Now()")
	}
	if o.Group != nil {
		write("policies := map[string]shardq.GroupPolicy{")
		for i, group := range groups {
			write("%q: %s,", group, p.literal(groupPolicies[p.firstPolicy(i)]))
		}
		write("}")
	}
	on := "c"
	if p.hasFaults() {
		write("var f faults")
	}
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
	for _, field := range []struct {
		there bool
		text  string
	}{
		{o.Hash != nil, code("Hash: func(i %s) uint64 { _ = i%s; return hashOf(i) },", of, user("Hash"))},
		{o.Group != nil, code("Group: func(i %s) string { _ = i%s; return groupOf(i) },", of, user("Group"))},
		{o.Group != nil, code("GroupPolicy: func(group string) shardq.GroupPolicy { _ = group%s; return policies[group] },", user("GroupPolicy"))},
		{o.Watermarks.High > 0, code("Watermarks: shardq.Watermarks{Low: %d, High: %d, On: func(w shardq.Watermark) { t.Log(w)%s }},", o.Watermarks.Low, o.Watermarks.High, user("OnWatermark"))},
		{o.OnStuck != nil, code("OnStuck: func(i stats.Item[%s]) { t.Log(i) },", of)},
		{o.OnAdd != nil, code("OnAdd: func(a stats.Add[%s]) { t.Log(a)%s },", of, user("OnAdd"))},
		{p.hasFaults(), code("OnMisuse: func(m shardq.Misuse[%s]) { t.Log(m)%s },", of, user("OnMisuse"))},
		{p.hasFaults(), code("RateLimiter: hookedLimiter[%s]{limiter.NewExponential[%[1]s](leastBackoff, mostBackoff), f.call},", of)},
		{!p.hasFaults(), code("RateLimiter: limiter.NewExponential[%s](leastBackoff, mostBackoff),", of)},
	} {
		if field.there {
			write("%s", field.text)
		}
	}
	write("}), %s)", p.literal(s.rules()))
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

// writeGo writes a call in a goroutine.
func (p *player[T]) writeGo(text string) {
	text = strings.Replace(text, "ctx", code("ctx%d", p.names), 1)
	if strings.Contains(text, "WithDrain()") || strings.Contains(text, "= q.") {
		p.write("go func() { %s }()", text)
	} else {
		p.write("go func() { t.Log(%s) }()", text)
	}
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
