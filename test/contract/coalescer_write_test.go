package contract

import (
	"context"
	"errors"
	"fmt"
	"go/format"
	"regexp"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A script is the program of a player, written down as a test in Go that can be
// pasted into this package. It fails as the player did.
type script struct {
	lines []scriptLine
	calls []string // under way
	step  int      // the line with which the latest step began
}

// A scriptLine is a statement or, if got is set, a string expression with its
// result.
type scriptLine struct{ text, got string }

func (s *script) write(format string, arguments ...any) {
	s.lines = append(s.lines, scriptLine{text: code(format, arguments...)})
}

// wait writes the end of a step with other goroutines.
func (s *script) wait() {
	const wait = "synctest.Wait()"
	if n := len(s.lines); n > s.step && s.lines[n-1].text != wait {
		s.write(wait)
	}
}

// saw writes what an expression has shown.
func (s *script) saw(got, format string, arguments ...any) {
	s.lines = append(s.lines, scriptLine{code(format, arguments...), got})
}

// begin notes a call that begins, and returned writes it down.
func (s *script) begin(format string, arguments ...any) {
	s.calls = append(s.calls, code(format, arguments...))
}

func (s *script) returned(results ...any) {
	if text := s.endCall(); results == nil {
		s.write("%s", text)
	} else {
		s.saw(outcome(results...), "outcome(%s)", text)
	}
}

func (s *script) endCall() (text string) {
	last := len(s.calls) - 1
	text, s.calls = s.calls[last], s.calls[:last]
	return text
}

// fail writes what is wrong. A fault that is an assertion must hold. Otherwise
// the results of the step are not allowed.
func (s *script) fail(faults []string) {
	step := slices.Clone(s.lines[s.step:])
	why := strings.ReplaceAll(strings.Join(faults, "\n"), "\n", "\n// ")
	switch last := len(step) - 1; {
	case len(faults) == 1 && strings.HasPrefix(faults[0], "require."):
		s.write("%s", faults[0])
	case len(faults) == 1 && last >= 0 && step[last].got != "":
		s.lines[len(s.lines)-1] = scriptLine{text: code("require.NotEqual(t, %q, %s) // %s", step[last].got, step[last].text, why)}
	default:
		s.lines = s.lines[:s.step]
		s.write("var seen []string")
		var all []string
		for _, line := range step {
			if line.got != "" {
				all = append(all, line.got)
				line = scriptLine{text: code("seen = append(seen, %s)", line.text)}
			}
			s.lines = append(s.lines, line)
		}
		s.write("require.NotEqual(t, %#v, seen) // %s", all, why)
	}
}

// program returns the whole test.
func (s *script) program(prologue string) string {
	var b strings.Builder
	b.WriteString("func TestProgram(t *testing.T) {\nsynctest.Test(t, func(t *testing.T) {\n" + prologue)
	for _, line := range s.lines {
		if line.got != "" {
			line.text = code("require.Equal(t, %q, %s)", line.got, line.text)
		}
		b.WriteString(line.text + "\n")
	}
	text := strings.ReplaceAll(b.String()+strings.Join(s.calls, "\n")+"})\n}", "coalesce.Entry[interface {},string]", "joinEntry")
	if formatted, err := format.Source([]byte(text)); err == nil {
		text = string(formatted)
	}
	return text
}

// mustEqual returns an assertion that does not hold, or "".
func mustEqual(want, got, format string, arguments ...any) string {
	if want == got {
		return ""
	}
	return code("require.Equal(t, %q, %s)", want, code(format, arguments...))
}

var addresses = regexp.MustCompile("0x[0-9a-f]+")

// outcome returns a text for the results of a call, without addresses.
func outcome(results ...any) string {
	for i, result := range results {
		if entries, is := result.([]joinEntry); is {
			results[i] = slices.SortedFunc(slices.Values(entries), func(a, b joinEntry) int { return strings.Compare(a.Value, b.Value) })
		}
	}
	text := strings.ReplaceAll(fmt.Sprintf("%+v", results), time.Time{}.String(), "never")
	return addresses.ReplaceAllString(text, "0x")
}

var (
	zeros   = regexp.MustCompile(`\w+:(0|0x0|false|\[\][\w.]+\(nil\)|interface \{\}\(nil\)|time\.Date\(1, [^)]*\))(, |})`)
	lengths = regexp.MustCompile(`\b(\d+)0{6}\b`)
)

// goOf writes a value in Go, without most fields that are zero. There is one
// pointer.
func goOf(v any) string {
	text := strings.ReplaceAll(code("%#v", v), code("%#v", anyItems[3]), "anyItems[3]")
	text = zeros.ReplaceAllStringFunc(text, func(field string) string { return strings.TrimLeft(field[len(field)-1:], " ") })
	text = lengths.ReplaceAllString(text, "$1*time.Millisecond")
	return strings.NewReplacer("<nil>", "nil", "contract.", "").Replace(text)
}

// A joinSetup is what a coalescer of a player has.
type joinSetup struct {
	Shards, Capacity, Limit, LingerValues        int // Limit of each group
	Linger                                       time.Duration
	Rate, GroupRate                              shardq.Rate // if it parks
	Weight                                       int         // of the groups a and b
	Weighed, PutEnds, Readable, Grouped, Metrics bool
}

// A joinedUser is a coalescer, with the code of a user that it calls, and with what a
// program needs.
type joinedUser struct {
	*coalesce.Coalescer[any, string]
	clock   *clock.Fake
	claims  []worker.Claim[joinEntry]
	sources []*coalesce.Source[any, string]

	faults
	call   userCode
	at     int    // in a program: the number of calls until inside runs
	inside func() // and what runs then
	limit  int    // of each group
	isHigh bool   // by the last call of Watermarks.On
	panics bool   // OnAdd does at its next call
	faulty []any  // keys whose Merge has panicked in the call under way
}

// newJoined returns a coalescer that calls call or, in a program, counts calls.
func newJoined(s joinSetup, call userCode) *joinedUser {
	c := &joinedUser{clock: newFake(), call: call, limit: s.Limit}
	if call == nil {
		c.claims, c.sources = make([]worker.Claim[joinEntry], 1000), make([]*coalesce.Source[any, string], 1000)
		c.call = func(string) {
			if c.inside == nil {
				return
			}
			if c.at--; c.at == 0 {
				c.inside()
			}
		}
	}
	inner := c.call
	c.call = func(name string) { c.faults.call(name); inner(name) }
	c.Coalescer = coalesce.MustNew(s.options(c))
	return c
}

// setLimit changes the limit of both groups.
func (c *joinedUser) setLimit(limit int) {
	c.limit = limit
	c.RefreshGroup("a")
	c.RefreshGroup("c")
}

var errMerge = errors.New("on purpose: merge")

// options returns options whose Merge joins two values, which shows their order. It
// panics if the next one has a "!".
func (s joinSetup) options(c *joinedUser) coalesce.Options[any, string] {
	o := coalesce.Options[any, string]{
		Queue: shardq.Options[any]{
			Shards: s.Shards, Rate: s.Rate, Clock: hookedClock{c.clock, c.call}, Metrics: s.Metrics,
			RateLimiter: hookedLimiter[any]{limiter.NewExponential[any](firstBackoff, longestBackoff), c.call},
			OnAdd: func(a stats.Add[any]) {
				if a.Expired { // perhaps in a goroutine of its own
					return
				}
				c.call("OnAdd")
				if c.panics {
					c.panics = false
					panic(errInjected)
				}
			},
			Watermarks: shardq.Watermarks{Low: 1, High: 3, On: func(w shardq.Watermark) { c.isHigh = w.High }},
		},
		Capacity: s.Capacity, PutEndsBackoff: s.PutEnds, Readable: s.Readable, Linger: s.Linger, LingerValues: s.LingerValues,
		Merge: func(pending, next string) string {
			c.call("Merge")
			if strings.HasPrefix(next[1:], "!") {
				c.faulty = append(c.faulty, anyItems[next[0]-'a'])
				panic(errMerge)
			}
			return pending + next
		},
	}
	if s.Weighed {
		o.Weight = func(v string) int { c.call("Weight"); return len(v) }
	}
	if s.Grouped {
		o.Queue.StableRouting, o.Queue.Group = true, func(key any) string { c.call("Group"); return tenantOf(key) }
		o.Queue.GroupPolicy = func(group string) shardq.GroupPolicy {
			c.call("GroupPolicy")
			policy := shardq.GroupPolicy{Limit: c.limit, Rate: s.GroupRate}
			if group == "a" {
				policy.Weight = s.Weight
			}
			return policy
		}
	} else {
		o.Queue.Hash = func(key any) uint64 { c.call("Hash"); return uint64(letterOf(key)[0]) * 0x9e3779b97f4a7c15 }
	}
	return o
}

// drain drains without a wait.
func (c *joinedUser) drain(o shardq.DrainOptions, takesLeft bool) (dropped, left []joinEntry, err error) {
	dropped, err = c.Drain(nowait.Ended, o)
	if e, is := errors.AsType[*coalesce.DrainError[any, string]](err); is && takesLeft {
		left = e.Left()
		slices.SortStableFunc(left, func(a, b joinEntry) int { return strings.Compare(letterOf(a.Key), letterOf(b.Key)) })
	}
	return dropped, left, err
}

func valuesByKey(entries []joinEntry) map[any]string {
	values := map[any]string{}
	for _, e := range entries {
		values[e.Key] += e.Value
	}
	return values
}

// A parkedCall is a call in a goroutine of its own.
type parkedCall struct {
	cancel context.CancelFunc
	result string // or "" until it has returned
}

func park(call func(ctx context.Context) string) *parkedCall {
	ctx, cancel := context.WithCancel(context.Background())
	w := &parkedCall{cancel: cancel}
	go func() { w.result = call(ctx) }()
	synctest.Wait()
	return w
}

// entriesOf returns the items of claims.
func entriesOf(claims []worker.Claim[joinEntry]) (text string) {
	for _, c := range claims {
		text += outcome(c.Item, c.Priority)
	}
	return text
}

// counts are what a coalescer counts.
type counts struct{ Keys, Len, Ready, Processing, Delayed, Weight, Capacity, Put int }

func countsOf(c *coalesce.Coalescer[any, string]) counts {
	s := c.Stats()
	v := s.Values
	return counts{v.Keys, c.Len(), s.Ready, s.Processing, s.Delayed, v.Weight, v.Capacity, int(v.Put)}
}

func sourcesOf(c *coalesce.Coalescer[any, string]) []stats.Source {
	return slices.SortedFunc(slices.Values(c.Stats().Values.Sources), func(a, b stats.Source) int { return strings.Compare(a.Name, b.Name) })
}
