package shard

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/internal/testscale"
)

// The tests TestLitmus… run two or three goroutines against each other, over
// and over. Each tests a comment of this package that says that a race cannot
// be lost, or which order prevents it. They have failed when the line that the
// comment is about was broken, at once where a lock holds the window open
// (litmus_harness_test.go), otherwise at random. Some windows of one
// instruction were not met on a busy machine: a token that is sent twice, a
// shutdown that begins twice, a rejection that is not counted. These are the
// claims of the comments, and the tests:
//
//	park.go
//	  announce, then check
//	      TestLitmusPark, …HeldOpen
//	  publish, then check for parked consumers
//	      TestLitmusPark, …HeldOpen, …DirtyAgainstGet
//	  the searching consumer's last check, after clearing
//	      TestLitmusPark, …HeldOpen
//	  one token; sending it never blocks
//	      TestLitmusToken
//	  a canceled consumer takes no token along
//	      TestLitmusCancel, …CancelAgainstAdd
//	  after a shutdown each searching consumer wakes the next
//	      TestLitmusGetAgainstShutDown, …CancelAgainstShutDown,
//	      …HeldOpenAtShutDown
//	  await reads closed before it takes
//	      TestLitmusAddThenShutDown
//	get.go
//	  once the context ended, nothing is taken
//	      TestLitmusCancelAgainstAdd
//	  another consumer emptied the shard
//	      TestLitmusHandOut
//	turn.go
//	  lockReady: nil if nothing was ready
//	      TestLitmusHandOut
//	readybits.go
//	  a ready bit changes with its FIFO
//	      TestLitmusReadyBits, …ReadyBitsOfTwo
//	add.go
//	  begun is read under the lock
//	      TestLitmusAddAgainstDrain, …AddAfterAgainstShutDown
//	shutdown.go
//	  two flags: an Add in flight is not lost
//	      TestLitmusAddAgainstShutDown, TestAddInFlightAtShutDown
//	  what is dirty still runs
//	      TestLitmusDirtyAgainstShutDown
//	  delayed items are dropped, others are not
//	      TestLitmusDelayedAgainstShutDown
//	  it may be called at any time, from anywhere, again
//	      TestLitmusManyShutDowns
//	drain.go
//	  one more report is owed until all shards were inspected
//	      TestLitmusDrain, …DrainOfReadyItems
//	  each shard reports once
//	      TestLitmusSecondDoneAgainstDrain
//	  a ShutDown ends the waits of drains under way
//	      TestLitmusShutDownAgainstDrain, TestShutDownWhileDrainCloses
//	driver.go
//	  armed is never while the driver reads
//	      TestLitmusDriverReads
//	  poke after publishing in next
//	      TestLitmusDriverRests
//	  the driver reads again before it gives the timer up
//	      TestLitmusDriverRests, …EarliestDeadline
//	  the clock was stepped meanwhile
//	      TestLitmusDriverRests, TestClockStepsMeanwhile, …PartWay
//	  when stop returns, no goroutine owns the timer
//	      TestLitmusNothingRunsAfterShutDown
//	  a panic loses no other call's deadline
//	      TestLitmusPanicAgainstAddAfter, …HeldOpenPanic
//	  a parked consumer is woken for what became ready
//	      TestLitmusDelayEndsAgainstGet
//	reading.go
//	  the clock was set back after the driver read it
//	      TestLitmusSetBackUnderTheDriver
//	delay.go
//	  of several delays the first counts, once
//	      TestLitmusFire, …Overtaken
//	  the wheel is set back with the clock
//	      TestLitmusClockSetBack, TestSetBackWhileAdding
//	  an Add may cancel a delay
//	      TestLitmusCancelDelay
//	state.go
//	  one run at a time; no add is lost
//	      TestLitmusExclusion, …GetAgainstAdd, …DoneAgainstAdd,
//	      …AddAgainstAdd
//	  an event that breaks the rules changes nothing
//	      TestLitmusDoneAgainstDone, …DoneAgainstStranger,
//	      …SecondDoneAgainstGet
//	done.go
//	  a delayed item is not forgotten
//	      TestLitmusDelayEndsAgainstDone
//	handle.go
//	  id and fence name one processing
//	      TestLitmusEndAgainstEnd, …EndAgainstHandOut,
//	      …StaleEndAgainstHandOut
//	  an entry's id goes to another item by an add
//	      TestC60FreedCellGoesToAnother
//	  the caller that seals a Handle ends the processing
//	      TestLitmusSealedEnd
//	table.go
//	  storage is given back while items come
//	      TestLitmusPeak
//	cancel.go
//	  no processing begins after it without an Add
//	      TestLitmusCancelAgainstGet, …CancelAgainstDone,
//	      …CancelAgainstDelay
//	  a drain that waits for the item returns
//	      TestLitmusCancelAgainstDrain
//	drain.go
//	  an AddAfter in flight is run, awaited or returned
//	      TestLitmusAddAfterAgainstDrain
//	  the first to close does it for all
//	      TestLitmusDrainsAgainstEachOther
//	priority.go
//	  the only ready item rises: its bit stays on
//	      TestRaiseKeepsTheBit
//	prioritybitmap.go
//	  a hidden class is shown again
//	      TestClassComesBack
//	  a shard joins a class while it is hidden
//	      TestShardComesWhileItsClassIsTakenOff
//	admit.go
//	  the result is what was done
//	      TestLitmusTryAddAgainstShutDown
//	internal/itemlimit
//	  release, then check for waiters; wait, then check
//	      TestLitmusRoom
//	  a waiter granted while its context ends stands
//	      TestLitmusRoomPassedOn
//	  a weight is reserved once
//	      TestLitmusTryAdd
//	  a waiter after Close is refused
//	      TestLitmusRoomAtShutDown, …RoomGivenAtShutDown
//	  a change during a hook's call leads to another call
//	      TestLitmusWatermarks; …AtRest in internal/itemlimit
//	watchdog.go
//	  never is set before the search
//	      TestLitmusWatchdog, …WatchdogAgainstDone
//	coarseclock.go
//	  unless an operation has read the clock since
//	      TestLitmusCoarseClock
//	stats.go
//	  each shard's reading is consistent
//	      TestLitmusReadings
//	misuse.go
//	  rejections are counted without a lock
//	      TestLitmusRejected
//
// Some code has no test of its own. The lanes and the turns within them
// (turn.go), the producer's yield (add.go) and the padding are for speed, and
// nothing depends on them. The timer belongs to the goroutine that owns it
// (driver.go), which the race detector checks in all tests of the driver.

// rounds returns how often to run a race, on two processors at least.
func rounds(t *testing.T, n int) int {
	processors := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	if testing.Short() || underRace {
		return n / 10
	}
	return testscale.N(n)
}

// hangs is how long a test waits before it fails because something waits
// forever. Nothing is measured by it.
const hangs = time.Minute

// eventually waits for something that other goroutines are doing, without
// sleeping.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	var since time.Time
	for n := 0; !happened(); n++ {
		runtime.Gosched()
		switch {
		case n == 1000:
			since = time.Now()
		case n%1000 == 0 && n > 1000 && time.Since(since) > hangs:
			t.Fatalf("waited %v in vain: %s", hangs, what)
		}
	}
}

// closed returns a condition for eventually: that a channel is closed.
func closed(c <-chan struct{}) func() bool {
	return func() bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
}

// pause spends a little time, differently in each round, so that two goroutines
// meet at other places.
func pause(round, longest int) {
	for range mix(uint32(round)) % uint32(longest) {
		spin.Add(1)
	}
}

var spin atomic.Uint32
