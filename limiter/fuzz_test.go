package limiter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"pgregory.net/rapid"
)

// FuzzLimiter reads its input as a limiter, possibly a combination of others,
// and as calls of it. It compares the answers with those of a naive model.
//
// The inputs in testdata/fuzz/FuzzLimiter are named after what they try. This
// command prints the calls of one, one per line:
//
//	go test -run FuzzLimiter/NAME -v ./limiter
//
// An example is "9s e1m9s Wa Wa S5m Na": how long histories are kept, a
// limiter, and calls. The methods of script define how each is read. An unknown
// letter stands for a known one, so that every text is valid.
func FuzzLimiter(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) { playScript(t, text) })
}

// TestC30RandomLimitersBehaveAsTheirModels runs FuzzLimiter with inputs of
// rapid.
func TestC30RandomLimitersBehaveAsTheirModels(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("efobmwfWWWWFNSSabc0123459/.nmsHyzNIJRhxe *")), 10, 200, -1)
	rapid.Check(t, func(rt *rapid.T) { playScript(rt, text.Draw(rt, "script")) })
}

func playScript(t failer, text string) {
	s := script(text)
	p := &playing{failer: t, clock: clock.NewFake(start)}
	p.options = Options{Clock: p.clock, ForgetAfter: max(0, s.forgetAfter())}
	p.limiter, p.model = s.limiter(p, deepest)
	const most = 3000 // calls: enough to combine them all, and quick
	for p.calls < most && s.more() {
		for call, times, item := s.call(); times > 0; times-- {
			p.play(call, item, &s)
		}
	}
	if log, ok := t.(*testing.T); ok && testing.Verbose() {
		log.Log(p.transcript())
	}
}

type failer interface {
	Fatalf(format string, arguments ...any)
}

// playing is a limiter and its model.
type playing struct {
	failer
	clock   *clock.Fake
	options Options
	limiter Limiter[int]
	model   naive
	calls   int
	lines   []line
}

// A line is one line of the transcript.
type line struct {
	format    string
	arguments []any
}

// play makes a call and compares. It reads the length of a step from the
// script.
func (p *playing) play(call byte, item int, s *script) {
	p.calls++
	now := p.clock.Now()
	switch call {
	case 'W':
		got, want := p.limiter.When(item), p.model.when(item, now)
		p.record("When(%d) = %v", item, got)
		if got < 0 || got < want.least || got > want.most {
			p.fail("want between %v and %v", want.least, want.most)
		}
	case 'F':
		p.limiter.Forget(item)
		p.model.forget(item)
		p.record("Forget(%d)", item)
	case 'w', 'f':
		for i := range manyItems {
			p.play(call-'a'+'A', item+i, s)
		}
	case 'S':
		d := p.steppable(s.duration())
		p.clock.Step(d)
		p.record("Step(%v)", d)
	}
	got, want := p.limiter.NumRequeues(item), p.model.requeues(item, p.clock.Now())
	p.record("NumRequeues(%d) = %d", item, got)
	if got != want {
		p.fail("want %d", want)
	}
}

func (p *playing) record(format string, arguments ...any) {
	p.lines = append(p.lines, line{format, arguments})
}

func (p *playing) transcript() string {
	var lines []string
	for _, l := range p.lines {
		lines = append(lines, fmt.Sprintf(l.format, l.arguments...))
	}
	return strings.Join(lines, "\n")
}

func (p *playing) fail(format string, arguments ...any) {
	p.record(format, arguments...)
	p.Fatalf("%s", p.transcript())
}

// steppable limits a step to the range of clocks. If histories expire, the
// clock does not go back, because the limiter looks for expired ones at random
// times.
func (p *playing) steppable(d time.Duration) time.Duration {
	elapsed := p.clock.Now().Sub(start)
	first := -forever / 2
	if p.options.ForgetAfter > 0 {
		first = elapsed
	}
	if d > 0 {
		return min(d, forever-1-max(elapsed, 0))
	}
	return max(d, first-elapsed)
}
