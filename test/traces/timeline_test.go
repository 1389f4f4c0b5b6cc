package traces

import (
	"math"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
)

// A timeline is a queue's source of time, in the hands of the replayer.
type timeline interface {
	clock() clock.Clock
	now() time.Time
	// step lets time pass. When it returns, what the queue had to do about that
	// is done.
	step(d time.Duration)
	// advance lets time pass until something of the queue's comes to pass. It
	// reports false if nothing does.
	advance(p *player) bool
}

// fakeTimeline is the fake clock, which is stepped.
type fakeTimeline struct{ *clock.Fake }

func newFakeTimeline() fakeTimeline {
	return fakeTimeline{clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
}

func (l fakeTimeline) clock() clock.Clock   { return l.Fake }
func (l fakeTimeline) now() time.Time       { return l.Now() }
func (l fakeTimeline) step(d time.Duration) { l.Step(d) }

func (l fakeTimeline) advance(*player) bool {
	next, ok := l.Next()
	if ok {
		l.Step(max(next, 0))
	}
	return ok
}

// realTimeline is the real clock, which in a bubble goes on when everybody sleeps.
type realTimeline struct{}

func (realTimeline) clock() clock.Clock { return clock.Real() }
func (realTimeline) now() time.Time     { return time.Now() }

func (realTimeline) step(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// advance sleeps until a worker wakes, which it adds if there is none.
func (realTimeline) advance(p *player) bool {
	if len(p.away[getting]) == 0 {
		p.startGet(&worker{})
	}
	select {
	case a := <-p.arrivals:
		p.note(a)
		return true
	case <-time.After(math.MaxInt64):
		return false
	}
}
