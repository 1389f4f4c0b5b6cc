package shardqtest

import (
	"fmt"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

// A timeline moves the clock of a queue: a fake one, or that of a bubble.
type timeline struct {
	fake *clock.Fake // or nil in a bubble
}

// check returns an error unless moving the timeline moves the queue's clock.
func (l timeline) check(queue shardq.Inspector) error {
	if l.fake != nil {
		if its := queue.Inspect().Snapshot(0).Time; !its.Equal(l.fake.Now()) {
			return fmt.Errorf("the queue's clock reads %v, and the fake clock %v: "+
				"want the same clock in the Options of the queue", its, l.fake.Now())
		}
		return nil
	}
	if of := queue.Inspect().Configuration().Clock; of != "real" {
		return fmt.Errorf("the queue has a %s, and the Driver no clock: want the queue's fake clock", of)
	}
	return inBubble()
}

// inBubble returns an error unless the caller is in a bubble.
func inBubble() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("there is no fake clock, and no bubble of testing/synctest: want one of them (%v)", r)
		}
	}()
	synctest.Wait()
	return nil
}

func (l timeline) now() time.Time {
	if l.fake != nil {
		return l.fake.Now()
	}
	return time.Now()
}

// pass lets time pass. When it returns, what is due has expired.
func (l timeline) pass(d time.Duration) {
	if l.fake != nil {
		l.fake.Step(d)
		return
	}
	time.Sleep(d)
	synctest.Wait()
}
