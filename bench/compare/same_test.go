package compare_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/bench/compare"
	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// TestTheSameCallsComeToTheSame makes the same random calls on the queues with
// a strict order, and checks that they hand out the same items, in the same
// order, at the same time.
func TestTheSameCallsComeToTheSame(t *testing.T) {
	for _, e := range []workload.Engine{engine.HeapQueue(), engine.Shardq(1)} {
		t.Run(e.Name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				calls := rapid.SliceOfN(anyCall(), 1, 60).Draw(r, "calls")
				expected := trace(t, compare.ClientGo(), calls)
				require.Equal(r, expected, trace(t, e, calls))
			})
		})
	}
}

// A call is a call by a user of a queue.
type call struct {
	do    string
	item  string
	delay time.Duration
	steps int // of time that passes
}

// anyCall draws calls that follow the rules. The queues differ on purpose about
// calls that break them.
func anyCall() *rapid.Generator[call] {
	return rapid.Custom(func(r *rapid.T) call {
		return call{
			do:    rapid.SampledFrom([]string{"add", "add", "get", "get", "done", "after", "pass"}).Draw(r, "do"),
			item:  rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(r, "item"),
			steps: rapid.IntRange(0, 4).Draw(r, "steps"),
			delay: step * time.Duration(rapid.IntRange(-1, 20).Draw(r, "delay")),
		}
	})
}

// step is the unit of delays and of the steps of time: some ticks of shardq's
// wheel.
const step = 10 * time.Millisecond

// trace makes the calls and returns what a user of the queue sees.
func trace(t *testing.T, e workload.Engine, calls []call) (seen []string) {
	synctest.Test(t, func(t *testing.T) {
		u := user{queue: e.New().(workload.DelayingQueue), deadlines: map[time.Time]bool{}}
		for _, c := range calls {
			seen = append(seen, u.make(c))
		}
		time.Sleep(time.Minute)
		u.queue.ShutDown()
		seen = append(seen, u.rest()...)
	})
	return seen
}

// user is a user of a queue that follows the rules.
type user struct {
	queue      workload.DelayingQueue
	processing []string
	deadlines  map[time.Time]bool
}

// make makes a call if the rules allow it now, and returns its result as text.
func (u *user) make(c call) string {
	switch c.do {
	case "add":
		u.queue.Add(c.item)
	case "get":
		if u.queue.Len() > 0 {
			return u.get()
		}
	case "done":
		if len(u.processing) > 0 {
			u.queue.Done(u.processing[0])
			u.processing = u.processing[1:]
		}
	case "after":
		u.addAfter(c)
	case "pass":
		time.Sleep(step * time.Duration(c.steps))
	}
	synctest.Wait() // a goroutine of the queue may have work to do
	return fmt.Sprint(c.do, " ready=", u.queue.Len())
}

func (u *user) get() string {
	item, shutdown := u.queue.Get()
	u.processing = append(u.processing, item)
	return fmt.Sprint("got ", item, shutdown)
}

// addAfter makes all deadlines different, because a heap does not define which
// of two equal ones is first. It lets them expire between the moments at which
// time stops.
func (u *user) addAfter(c call) {
	if c.delay > 0 {
		c.delay += step / 2
		for u.deadlines[time.Now().Add(c.delay)] {
			c.delay += step
		}
		u.deadlines[time.Now().Add(c.delay)] = true
	}
	u.queue.AddAfter(c.item, c.delay)
}

// rest takes the items that the queue still has after its shutdown, including
// dirty ones.
func (u *user) rest() (seen []string) {
	for {
		for _, item := range u.processing {
			u.queue.Done(item)
		}
		u.processing = nil
		item, shutdown := u.queue.Get()
		if shutdown {
			return seen
		}
		seen = append(seen, fmt.Sprint("left ", item))
		u.processing = append(u.processing, item)
	}
}

func TestEveryEngineCarriesTraffic(t *testing.T) {
	const items = 2000
	keys := workload.Strings(1024)
	for _, e := range compare.All() {
		t.Run(e.Name, func(t *testing.T) {
			closed := workload.Closed(e.New(), keys, workload.Load{Producers: 2, Consumers: 2, Items: items})
			require.GreaterOrEqual(t, closed.Completed, items)
			q := e.New().(workload.DelayingQueue)
			require.Positive(t, workload.DelayedCycle(q, keys, workload.Delays(len(keys), 5*time.Millisecond), 2))
		})
	}
}
