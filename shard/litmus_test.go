package shard

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// The tests TestLitmus… run two or three goroutines against each other, over and over,
// where a comment of this package says that a race cannot be lost or which order
// prevents it. They have been seen to fail when the line that the comment is about is
// broken, at once where a lock holds the window open (litmus_harness_test.go), otherwise
// by chance. Windows of one instruction were not met on a busy machine: a token that is
// sent twice, a shutdown that begins twice, a rejection that is not counted. What the
// comments say, and the tests:
//
//	park.go      announce, then look                                TestLitmusPark, …HeldOpen
//	             publish, then look for sleepers                    TestLitmusPark, …HeldOpen, …DirtyAgainstGet
//	             the searcher's last look, after clearing           TestLitmusPark, …HeldOpen
//	             one token; sending it never blocks                 TestLitmusToken
//	             who gives up owes nothing: no token goes with him  TestLitmusCancel, …CancelAgainstAdd
//	             after a shutdown each searcher wakes the next      TestLitmusGetAgainstShutDown, …CancelAgainstShutDown, …HeldOpenAtShutDown
//	             await reads closed before the look                 TestLitmusAddThenShutDown
//	get.go       once the context ended, nothing is taken           TestLitmusCancelAgainstAdd
//	             another consumer emptied the shard                 TestLitmusHandOut
//	turn.go      lockReady: nil if nothing was ready                TestLitmusHandOut
//	set.go       a ready bit changes with its FIFO                  TestLitmusReadyBits, …ReadyBitsOfTwo
//	add.go       begun is read under the lock                       TestLitmusAddAgainstDrain, …AddAfterAgainstShutDown
//	shutdown.go  two flags: an Add in flight is not left            TestLitmusAddAgainstShutDown, TestAddInFlightAtShutDown
//	             what is dirty still runs                           TestLitmusDirtyAgainstShutDown
//	             what waits is dropped, what is under way is not    TestLitmusWaitingAgainstShutDown
//	             it may be called at any time, by anyone, again     TestLitmusManyShutDowns
//	drain.go     one more is owed until all shards were seen        TestLitmusDrain, …DrainOfReadyItems
//	             each shard reports once                            TestLitmusSecondDoneAgainstDrain
//	             a ShutDown lets drains under way go                TestLitmusShutDownAgainstDrain, TestShutDownWhileDrainCloses
//	driver.go    armed is never while the driver reads              TestLitmusDriverReads
//	             poke after publishing in next                      TestLitmusDriverRests
//	             the driver looks again before it rests             TestLitmusDriverRests, …EarliestDeadline
//	             the clock was stepped meanwhile                    TestLitmusDriverRests, TestClockStepsMeanwhile, …PartWay
//	             when stop returns, nobody is at work               TestLitmusNothingRunsAfterShutDown
//	             a panic loses nobody else                          TestLitmusPanicAgainstAddAfter, …HeldOpenPanic
//	             what became ready has a consumer woken             TestLitmusDelayEndsAgainstGet
//	reading.go   the clock was set back after the driver read it    TestLitmusSetBackUnderTheDriver
//	delay.go     of several delays the first counts, once           TestLitmusFire, …Overtaken
//	             the clock was set back: so is the wheel            TestLitmusClockSetBack, TestSetBackWhileAdding
//	             an Add may cancel a delay                          TestLitmusCancelDelay
//	state.go     one run at a time; no add is lost                  TestLitmusExclusion, …GetAgainstAdd, …DoneAgainstAdd, …AddAgainstAdd
//	             what breaks the rules changes nothing              TestLitmusDoneAgainstDone, …DoneAgainstStranger, …SecondDoneAgainstGet
//	done.go      what waits is not forgotten                        TestLitmusDelayEndsAgainstDone
//	handle.go    id and fence name one processing                   TestLitmusEndAgainstEnd, …EndAgainstHandOut, …StaleEndAgainstHandOut
//	             an entry's id goes to another item by an add       TestC60FreedCellGoesToAnother
//	             who seals a Handle is the one who ends it          TestLitmusSealedEnd
//	table.go     storage is given back while others come            TestLitmusTide
//	cancel.go    no processing begins after it without an Add        TestLitmusCancelAgainstGet, …CancelAgainstDone, …CancelAgainstDelay
//	             a drain that waits for the item is told            TestLitmusCancelAgainstDrain
//	drain.go     an AddAfter in flight is run, awaited or returned  TestLitmusAddAfterAgainstDrain
//	             the first to close does it for all                 TestLitmusDrainsAgainstEachOther
//	priority.go  the only ready item rises: its bit stays on        TestRaiseKeepsTheBit
//	urgency.go   a class that was taken off is put on again         TestClassComesBack
//	             a shard comes while its class is taken off         TestShardComesWhileItsClassIsTakenOff
//	admit.go     the answer is what was done                        TestLitmusTryAddAgainstShutDown
//	internal/itemlimit: release, then check for waiters; wait, then check  TestLitmusRoom
//	             a waiter granted while its context ends stands     TestLitmusRoomPassedOn
//	             a weight is reserved once                          TestLitmusTryAdd
//	             a waiter after Close is refused                    TestLitmusRoomAtShutDown, …RoomGivenAtShutDown
//	             a change during a hook's call leads to another     TestLitmusWatermarks; …AtRest in internal/itemlimit
//	watchdog.go  never is set before the look                       TestLitmusWatchdog, …WatchdogAgainstDone
//	ages.go      unless somebody has read the clock since           TestLitmusPulse
//	stats.go     each shard's reading is consistent                 TestLitmusReadings
//	misuse.go    rejections are counted without a lock              TestLitmusRejected
//
// Without a test of their own: the lanes and the turns within them (turn.go), the
// producer's yield (add.go) and the padding are for speed, and nothing depends on them;
// the timer belongs to the holder of the baton (driver.go), which the race detector
// watches in all tests of the driver.

// rounds returns how often to run a race, on two processors at least.
func rounds(t *testing.T, n int) int {
	processors := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	if testing.Short() || underRace {
		return n / 10
	}
	return n
}

// hangs is how long a test waits before it says that it waits for ever. Nothing is
// measured by it.
const hangs = time.Minute

// eventually waits for something that others are doing, without sleeping.
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

// pause spends a little time, differently in each round, so that two goroutines meet
// at other places.
func pause(round, longest int) {
	for range mix(uint32(round)) % uint32(longest) {
		spin.Add(1)
	}
}

var spin atomic.Uint32
