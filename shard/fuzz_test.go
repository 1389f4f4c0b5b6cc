package shard

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// A script is the rest of the input of a fuzz test: a list of operations that
// can also be written by hand. Each is a byte that selects it and one or two
// bytes of arguments. Zeros follow the end of the input.
type script []byte

func (s *script) byte() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

// mostOperations are enough to combine them all, and quick.
const mostOperations = 100

// FuzzSet reads its input as a configuration and a list of calls, and makes
// them on a set.
func FuzzSet(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) { runScript(t, input) })
}

// TestRandomScripts runs scripts like those of FuzzSet.
func TestRandomScripts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runScript(t, rapid.SliceOfN(rapid.Byte(), 40, 300).Draw(t, "script"))
	})
}

func runScript(t tester, input []byte) {
	s := script(input)
	flags := s.byte()
	config := Config[int]{
		Settings: Settings{
			Shards:  1 + int(flags&3),
			Rules:   Rules{CancelDelayOnAdd: flags&4 != 0, KeepPlaces: flags&64 != 0, PrioritiesBeforeTurns: flags&64 != 0},
			Tick:    []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, 1}[flags>>3&3],
			Ages:    flags&32 != 0,
			Metrics: flags&32 != 0,
		},
	}
	if flags&128 != 0 {
		policies := s.byte()
		config.Group = func(item int) string { return fmt.Sprint("group ", item%3) }
		config.GroupPolicy = func(group string) (p stats.GroupPolicy) {
			p.Weight, p.Limit = int(policies&3), int(policies>>2&3)
			if policies&16 != 0 && group == "group 2" {
				p.Rate = stats.Rate{PerSecond: 100, Burst: 1 + int(policies>>5)}
			}
			return p
		}
	}
	c := newCheckedSet(t, config)
	for range mostOperations {
		if len(s) == 0 {
			break
		}
		setOperation(c, &s)
		c.check()
	}
	c.drainAll()
}

// A checkedSet is a set whose redundant data must agree after each call. What
// the calls do is compared with a model in test/contract.
type checkedSet struct {
	tester
	set        *Set[int]
	clock      *clock.Fake
	processing map[int]bool
	done       uint64
}

func newCheckedSet(t tester, config Config[int]) *checkedSet {
	c := &checkedSet{tester: t, clock: clock.NewFake(start), processing: map[int]bool{}}
	config.Clock = c.clock
	c.set = newTestSet(t, config)
	return c
}

func (c *checkedSet) get() {
	c.Helper()
	item, priority, _, ok := c.set.TryTake()
	if !ok {
		if n := c.set.Core.Len(); n > 0 && !c.set.Core.config.grouped {
			c.Fatalf("%d items are ready, and none is handed out", n)
		}
		return
	}
	if c.processing[item] {
		c.Fatalf("item %d is handed out twice, with priority %d", item, priority)
	}
	c.processing[item] = true
}

func (c *checkedSet) endProcessing(item int) {
	if c.processing[item] {
		delete(c.processing, item)
		c.done++
	}
	c.set.Done(item)
}

// doneSome calls Done for the items in processing that n divides.
func (c *checkedSet) doneSome(n int) {
	for _, item := range slices.Sorted(maps.Keys(c.processing)) {
		if item%n == 0 {
			c.endProcessing(item)
		}
	}
}

func (c *checkedSet) check() {
	c.Helper()
	checkSet(c, c.set)
	st := c.set.Core.Stats()
	if st.Done != c.done || st.Processing != len(c.processing) || st.Ready != c.set.Core.Len() {
		c.Fatalf("%d done, %d in processing, %d ready, but Stats are %+v", c.done, len(c.processing), c.set.Core.Len(), st)
	}
	if n := c.clock.Timers(); n > 1 || st.ShuttingDown && n > 0 && !c.set.Core.config.grouped || st.Delayed > 0 && n == 0 {
		c.Fatalf("%d timers are set for %d delayed items", n, st.Delayed)
	}
}

// drainAll runs the set until nothing is ready or in processing, and drops what
// is delayed. The set then remembers nothing.
func (c *checkedSet) drainAll() {
	c.Helper()
	c.set.Core.ShutDown()
	for group := range c.set.Core.Groups() {
		c.set.Core.ResumeGroup(group.Group)
	}
	for c.set.Core.Len()+len(c.processing) > 0 {
		c.get()
		c.doneSome(1)
		c.clock.Step(time.Second) // rates have tokens
	}
	c.check()
	if n := c.set.Core.Stats().Held; n > 0 {
		c.Fatalf("an idle queue remembers %d items", n)
	}
}

func setOperation(c *checkedSet, s *script) {
	switch s.byte() % 16 {
	case 0, 1:
		c.set.Add(int(s.byte() % 16))
	case 2:
		c.set.AddAfter(int(s.byte()%16), s.duration())
	case 3:
		c.set.AddWith(int(s.byte()%16), Delay{
			Duration: s.duration(), Policy: DelayPolicy(s.byte()) % policies, Priority: int(int8(s.byte())) / 32,
			MaxWait: time.Duration(s.byte()) * time.Millisecond, Window: time.Duration(s.byte()/64) * time.Second,
		})
	case 4, 5:
		c.get()
	case 6:
		c.endProcessing(int(s.byte() % 16))
	case 7:
		c.doneSome(1 + int(s.byte()%4))
	case 8:
		c.clock.Step(s.duration())
	case 9:
		if next, ok := c.clock.Next(); ok {
			c.clock.Step(next + time.Duration(int8(s.byte()))*time.Millisecond/8)
		}
	case 10:
		s.burst(c)
	case 11:
		if s.byte()%8 == 0 {
			c.set.Core.ShutDown()
		}
	case 12:
		c.set.Cancel(int(s.byte() % 16))
	case 13:
		first := int(s.byte() % 16)
		c.set.AddBatch([]int{first, first + 1, first + 2}, Delay{Duration: s.duration()})
	case 14:
		c.set.EndDelay(int(s.byte()%16), false)
	case 15:
		if c.set.Core.config.grouped {
			s.regroup(c)
		}
	}
}

// regroup pauses, resumes or refreshes a group.
func (s *script) regroup(c *checkedSet) {
	group := fmt.Sprint("group ", s.byte()%3)
	switch s.byte() % 4 {
	case 0:
		c.set.Core.PauseGroup(group, time.Time{})
	case 1:
		c.set.Core.PauseGroup(group, c.clock.Now().Add(s.duration()))
	case 2:
		c.set.Core.ResumeGroup(group)
	case 3:
		c.set.Core.RefreshGroup(group)
	}
}

// duration has a byte for the unit and one for the number, which may be
// negative.
func (s *script) duration() time.Duration {
	units := []time.Duration{1, time.Microsecond, time.Millisecond, 10 * time.Millisecond,
		time.Second, time.Minute, time.Hour, 3 * time.Hour}
	unit := units[s.byte()%8]
	return time.Duration(int8(s.byte())) * unit
}

// burst adds many items, and takes some of them.
func (s *script) burst(c *checkedSet) {
	do, first, n := s.byte()%4, 10*int(s.byte()), 3*int(s.byte())
	for item := first; item < first+n; item++ {
		switch do {
		case 0:
			c.set.Add(item)
		case 1:
			c.set.AddAfter(item, time.Duration(1+item%50)*time.Millisecond)
		case 2:
			c.get()
		case 3:
			c.endProcessing(item)
		}
	}
}
