// Package shardqtest helps to test programs that use a queue: what they add,
// what their handlers do, and when an item runs again.
//
// A [Driver] is a pool of workers that stands still. The test lets it process
// one item, or all until the queue is idle. It moves the queue's clock from one
// deadline to the next, so that backoff and delays take no time:
//
//	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
//	queue := shardq.MustNew(shardq.Options[string]{Clock: fake, Shards: 1})
//	driver := shardqtest.Drive(t, queue, fake, worker.Options[string]{Handle: deliver})
//	queue.Add("web")
//	for _, attempt := range driver.RunUntilIdle() {
//		t.Log(attempt)
//	}
//
// A [Script] is a handler that fails, panics or asks for the item again as the
// test says.
package shardqtest

// TB is the part of [testing.TB] that the package needs. Fatalf must not
// return: it ends the test, as that of [testing.T] does, or panics.
type TB interface {
	Helper()
	Fatalf(format string, arguments ...any)
}
