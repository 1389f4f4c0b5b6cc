package traces

import (
	"testing/synctest"
	"time"

	"github.com/shardq/shardq/clock"
)

// A timeline is a queue's clock, which the replayer can step.
type timeline interface {
	clock() clock.Clock
	now() time.Time
	// step lets time pass. When it returns, all delays that are due have
	// expired.
	step(d time.Duration)
}

// fakeTimeline is the fake clock, which is stepped.
type fakeTimeline struct{ *clock.Fake }

func newFakeTimeline() fakeTimeline {
	return fakeTimeline{clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
}

func (l fakeTimeline) clock() clock.Clock   { return l.Fake }
func (l fakeTimeline) now() time.Time       { return l.Now() }
func (l fakeTimeline) step(d time.Duration) { l.Step(d) }

// realTimeline is the real clock. In a bubble it advances when all goroutines
// are blocked.
type realTimeline struct{}

func (realTimeline) clock() clock.Clock { return clock.Real() }
func (realTimeline) now() time.Time     { return time.Now() }

func (realTimeline) step(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
