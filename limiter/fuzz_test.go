package limiter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shardq/shardq/clock"
	"pgregory.net/rapid"
)

// FuzzLimiter reads its input as a limiter, made of others maybe, and as calls of it, and
// compares its answers with those of a naive model.
//
// The inputs in testdata/fuzz/FuzzLimiter are named after what they try. One of them is
// told, a call in each line, with
//
//	go test -run FuzzLimiter/NAME -v ./limiter
//
// An example is "9s e1m9s Wa Wa S5m Na": how long histories are kept, a limiter, and
// calls. The script's methods say how each is read. Where a letter is unknown, another
// stands for it, so that every text can be read.
func FuzzLimiter(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) { playScript(t, text) })
}

// TestC30RandomLimitersBehaveAsTheirModels is FuzzLimiter with inputs of rapid's.
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
		log.Log(p.told())
	}
}

type failer interface {
	Fatalf(format string, arguments ...any)
}

// playing is a limiter beside its model.
type playing struct {
	failer
	clock   *clock.Fake
	options Options
	limiter Limiter[int]
	model   naive
	calls   int
	story   []line
}

// A line is what is told of a call.
type line struct {
	format    string
	arguments []any
}

// play makes a call and compares. The length of a step is read from the script.
func (p *playing) play(call byte, item int, s *script) {
	p.calls++
	now := p.clock.Now()
	switch call {
	case 'W':
		got, want := p.limiter.When(item), p.model.when(item, now)
		p.tell("When(%d) = %v", item, got)
		if got < 0 || got < want.least || got > want.most {
			p.fail("that is not between %v and %v", want.least, want.most)
		}
	case 'F':
		p.limiter.Forget(item)
		p.model.forget(item)
		p.tell("Forget(%d)", item)
	case 'w', 'f':
		for one := range crowd {
			p.play(call-'a'+'A', item+one, s)
		}
	case 'S':
		d := p.steppable(s.duration())
		p.clock.Step(d)
		p.tell("Step(%v)", d)
	}
	got, want := p.limiter.NumRequeues(item), p.model.requeues(item, p.clock.Now())
	p.tell("NumRequeues(%d) = %d", item, got)
	if got != want {
		p.fail("that is not %d", want)
	}
}

func (p *playing) tell(format string, arguments ...any) {
	p.story = append(p.story, line{format, arguments})
}

func (p *playing) told() string {
	var lines []string
	for _, l := range p.story {
		lines = append(lines, fmt.Sprintf(l.format, l.arguments...))
	}
	return strings.Join(lines, "\n")
}

func (p *playing) fail(format string, arguments ...any) {
	p.tell(format, arguments...)
	p.Fatalf("%s", p.told())
}

// steppable cuts a step to where clocks go. Where histories expire, the clock does not
// go back: chance decides when the limiter looks for what has expired.
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
