package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
)

// joined merges values by joining them, which shows their order. It panics if
// the next one is "!".
func joined(pending, next string) string {
	if strings.HasPrefix(next, "!") {
		panic("on purpose")
	}
	return pending + next
}

// newJoiner returns a coalescer that joins strings.
func newJoiner(shards int, change ...func(*coalesce.Options[string, string])) *coalesce.Coalescer[string, string] {
	options := coalesce.Options[string, string]{Queue: shardq.Options[string]{Shards: shards}, Merge: joined}
	for _, change := range change {
		change(&options)
	}
	return coalesce.MustNew(options)
}

// oneHour sets the delay of a retry, so that no delay expires in a test of real
// time.
func oneHour(o *coalesce.Options[string, string]) {
	o.Queue.RateLimiter = limiter.NewExponential[string](time.Hour, time.Hour)
}

func capacityOf(n int) func(*coalesce.Options[string, string]) {
	return func(o *coalesce.Options[string, string]) { o.Capacity = n }
}

func weighed(o *coalesce.Options[string, string]) {
	o.Weight = func(v string) int { return len(v) }
}

// forEachBackoff runs a test with and without PutEndsBackoff.
func forEachBackoff(t *testing.T, test func(t *testing.T, backoff func(*coalesce.Options[string, string]), putEnds bool)) {
	t.Helper()
	for _, putEnds := range []bool{false, true} {
		backoff := func(o *coalesce.Options[string, string]) { o.PutEndsBackoff = putEnds }
		t.Run(fmt.Sprintf("PutEndsBackoff=%v", putEnds), func(t *testing.T) { test(t, backoff, putEnds) })
	}
}

// takeValue takes the one value that is expected next.
func takeValue(t *testing.T, c *coalesce.Coalescer[string, string], key, value string) {
	t.Helper()
	require.NotZero(t, c.Queue().Len(), "nothing is ready")
	k, v, err := c.Take(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{key, value}, []string{k, v})
}

// requireNothing checks that no key is ready and that none has a value.
func requireNothing(t *testing.T, c *coalesce.Coalescer[string, string]) {
	t.Helper()
	require.Zero(t, c.Queue().Len())
	require.Zero(t, c.Len())
	require.Zero(t, c.Stats().Values.Weight)
}

func TestC54ValuesMergeInTheOrderOfPuts(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		c := newJoiner(shards)
		for _, v := range []string{"1", "2", "3"} {
			require.NoError(t, c.Put("a", v))
			require.NoError(t, c.TryPut("b", v))
			require.NoError(t, c.PutContext(context.Background(), "", v))
		}
		assert.Equal(t, 3, c.Len())
		got := map[string]string{}
		for range 3 {
			k, v, err := c.Take(context.Background())
			require.NoError(t, err)
			got[k] = v
			c.Done(k)
		}
		assert.Equal(t, map[string]string{"a": "123", "b": "123", "": "123"}, got)
		requireNothing(t, c)
	})
}

func TestC54PutDuringProcessingComesAfterIt(t *testing.T) {
	c := newJoiner(1)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Put("a", "2"))
	require.NoError(t, c.Put("a", "3"))
	assert.Zero(t, c.Queue().Len(), "a second worker would have the key")
	assert.Equal(t, 1, c.Len())
	c.Done("a")
	takeValue(t, c, "a", "23")
	c.Done("a")
	requireNothing(t, c)
}

// A Take does not wait for a merge. It skips the key, which is handed out after
// the merge.
func TestC54TakeLeavesWhatIsBeingMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Merge = func(a, b string) string {
				if b == "slow" {
					<-gate
				}
				return a + b
			}
		})
		require.NoError(t, c.Put("a", "1"))
		go func() { assert.NoError(t, c.Put("a", "slow")) }()
		synctest.Wait()
		require.NoError(t, c.Put("b", "other"))
		var taken []string
		go func() {
			for {
				k, v, err := c.Take(context.Background())
				if err != nil {
					return
				}
				taken = append(taken, k+v)
				c.Done(k)
			}
		}()
		synctest.Wait()
		assert.Equal(t, []string{"bother"}, taken)
		require.NoError(t, c.Put("a", "2"), "a Put does not wait for it either")
		require.NoError(t, c.Put("a", "3"))
		synctest.Wait() // the worker has skipped the key once more
		c.ShutDown()
		close(gate)
		synctest.Wait()
		assert.Equal(t, "a1slow23", strings.ReplaceAll(strings.Join(taken[1:], ""), "aa", "a"), "it is handed out, though a shutdown began")
	})
}

// slowMerge is a Merge that joins. Before that it waits, for each value that
// ends with "?", until its channel is closed.
func slowMerge(through map[string]chan struct{}) func(*coalesce.Options[string, string]) {
	return func(o *coalesce.Options[string, string]) {
		o.Merge = func(a, b string) string {
			if gate := through[b]; gate != nil {
				<-gate
			}
			return a + b
		}
	}
}

// Concurrent Puts leave several segments. A later Put merges them, so that they
// do not accumulate, and the Take has nothing to merge.
func TestC54PutsMergeWhatOthersLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		merges := 0
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Merge = func(a, b string) string {
				merges++
				if b == "2?" {
					<-gate
				}
				return a + b
			}
		})
		require.NoError(t, c.Put("a", "1"))
		go func() { assert.NoError(t, c.Put("a", "2?")) }()
		synctest.Wait()
		require.NoError(t, c.Put("a", "3"))
		close(gate)
		synctest.Wait()
		require.NoError(t, c.Put("a", "4"))
		assert.Equal(t, 3, merges)
		takeValue(t, c, "a", "12?34")
		assert.Equal(t, 3, merges)
	})
}

// A key counts once for the capacity while a worker has its first values and
// its last ones are still being merged.
func TestC56CapacityOfAKeyThatIsTakenInPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates := map[string]chan struct{}{"2?": make(chan struct{}), "4?": make(chan struct{})}
		c := newJoiner(1, capacityOf(5), slowMerge(gates))
		require.NoError(t, c.Put("a", "1"))
		go func() { assert.NoError(t, c.Put("a", "2?")) }()
		synctest.Wait()
		require.NoError(t, c.Put("a", "3"))
		go func() { assert.NoError(t, c.Put("a", "4?")) }()
		synctest.Wait()
		close(gates["2?"])
		synctest.Wait()
		takeValue(t, c, "a", "12?")
		assert.Equal(t, 1, c.Stats().Values.Weight)
		c.Done("a")
		assert.Zero(t, c.Queue().Len())
		close(gates["4?"])
		synctest.Wait()
		assert.Equal(t, 1, c.Stats().Values.Weight)
		takeValue(t, c, "a", "34?")
		c.Done("a")
		requireNothing(t, c)
	})
}

func TestC54TakeBatch(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		c := newJoiner(shards)
		ctx := context.Background()
		keys := []string{"a", "b", "c", "d", "e"}
		for _, k := range keys {
			require.NoError(t, c.Put(k, "1"+k))
			require.NoError(t, c.Put(k, "2"))
		}
		dst := make([]coalesce.Entry[string, string], 3)
		n, err := c.TakeBatch(ctx, nil)
		require.NoError(t, err)
		require.Zero(t, n)
		var got []string
		for range 2 {
			n, err := c.TakeBatch(ctx, dst)
			require.NoError(t, err)
			for _, p := range dst[:n] {
				assert.Equal(t, "1"+p.Key+"2", p.Value)
				got = append(got, p.Key)
			}
			c.DoneBatch(dst[:n])
		}
		slices.Sort(got)
		assert.Equal(t, keys, got)
		requireNothing(t, c)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		n, err = c.TakeBatch(ended, dst)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Zero(t, n)
		c.ShutDown()
		_, err = c.TakeBatch(ctx, dst)
		assert.ErrorIs(t, err, shardq.ErrShutDown)
	})
}

func TestC54ImpossibleKeys(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[any, int]{Merge: func(a, b int) int { return a + b }})
	nan := any(math.NaN())
	assert.ErrorIs(t, c.Put(nan, 1), shardq.ErrRejected)
	assert.ErrorIs(t, c.TryPut(nan, 1), shardq.ErrRejected)
	assert.ErrorIs(t, c.PutContext(context.Background(), nan, 1), shardq.ErrRejected)
	assert.ErrorIs(t, c.PutBack(nan, 1), shardq.ErrRejected)
	assert.ErrorIs(t, c.Retry(nan, 1), shardq.ErrRejected)
	assert.EqualValues(t, 5, c.Stats().Rejected)
	assert.Panics(t, func() { _ = c.Put([]int{1}, 1) })
	assert.Zero(t, c.Len())
	require.NoError(t, c.Put(1, 1), "nothing is left locked")
}

func TestC54OptionsAreChecked(t *testing.T) {
	_, err := coalesce.New(coalesce.Options[int, int]{
		Queue: shardq.Options[int]{Shards: -1, Capacity: 1}, Capacity: -1,
	})
	for _, fault := range []string{"Merge is nil", "coalesce: Options.Capacity is -1", "Queue.Capacity is 1", "Shards is -1"} {
		assert.ErrorContains(t, err, fault)
	}
	assert.Panics(t, func() { coalesce.MustNew(coalesce.Options[int, int]{}) })
}

func TestC55ValueThatIsPutBackComesFirst(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		c := newJoiner(shards)
		require.NoError(t, c.Put("a", "1"))
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Put("a", "2"))
		require.NoError(t, c.PutBack("a", "1"))
		require.NoError(t, c.Put("a", "3"))
		takeValue(t, c, "a", "123")
		require.NoError(t, c.PutBack("a", "123"))
		takeValue(t, c, "a", "123")
		c.Done("a")
		requireNothing(t, c)
		assert.Zero(t, c.Stats().Misused)
	})
}

func TestC55BatchTakesAllOfAKey(t *testing.T) {
	c := newJoiner(1)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Put("a", "2"))
	require.NoError(t, c.PutBack("a", "1"))
	dst := make([]coalesce.Entry[string, string], 2)
	n, err := c.TakeBatch(context.Background(), dst)
	require.NoError(t, err)
	assert.Equal(t, []coalesce.Entry[string, string]{{Key: "a", Value: "12"}}, dst[:n])
	c.DoneBatch(dst[:n])
	requireNothing(t, c)
}

func TestC64RetryOfADirtyKey(t *testing.T) {
	var got []stats.Add[string]
	c := newJoiner(1, func(o *coalesce.Options[string, string]) {
		o.Queue.Clock = newFake() // the delay must not end after the test
		o.Queue.OnAdd = func(a stats.Add[string]) { got = append(got, a) }
	})
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Put("a", "2"))
	got = nil
	require.NoError(t, c.Retry("a", "1"))
	require.Equal(t, []stats.Add[string]{{Item: "a", Canceled: true}}, got, "the delay serves the value as well")
}

func TestC55RetryWaitsForItsDelay(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		c := newJoiner(shards, func(o *coalesce.Options[string, string]) { o.Queue.Clock = line.clock })
		require.NoError(t, c.Put("a", "1"))
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Retry("a", "1"))
		assert.Zero(t, c.Queue().Len())
		assert.Equal(t, 1, c.Queue().NumRequeues("a"))
		line.pass(time.Second)
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Retry("a", "1"))
		require.NoError(t, c.Put("a", "2"))
		require.NoError(t, c.TryPut("a", "3"))
		assert.Zero(t, c.Queue().Len(), "a new value is delayed, too")
		assert.Equal(t, 1, c.Stats().Delayed)
		line.pass(time.Second)
		takeValue(t, c, "a", "123")
		c.Done("a")
		assert.Zero(t, c.Queue().NumRequeues("a"))
		requireNothing(t, c)
		require.Zero(t, c.Stats().Held, "a delay goes on")
	})
}

// A value that was put during the processing is delayed with the retry. So are
// a value that is merged meanwhile, and one that a Take left because a merge
// was running.
func TestC55RetryBesideANewValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(1, oneSecond, slowMerge(map[string]chan struct{}{"3?": gate}))
		require.NoError(t, c.Put("a", "1"))
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Put("a", "2"))
		go func() { assert.NoError(t, c.Put("a", "3?")) }()
		synctest.Wait()
		require.NoError(t, c.Retry("a", "1"))
		close(gate)
		synctest.Wait()
		require.NoError(t, c.Put("a", "4"))
		synctest.Wait()
		require.Zero(t, c.Queue().Len())
		time.Sleep(time.Second + tick)
		synctest.Wait()
		takeValue(t, c, "a", "123?4")
		c.Done("a")
		requireNothing(t, c)
	})
}

func oneSecond(o *coalesce.Options[string, string]) {
	o.Queue.RateLimiter = limiter.NewExponential[string](time.Second, time.Second)
}

func putEndsBackoff(o *coalesce.Options[string, string]) { o.PutEndsBackoff = true }

// A slowClock can block in its Now.
type slowClock struct {
	*clock.Fake
	wait atomic.Pointer[chan struct{}]
}

func (c *slowClock) Now() time.Time {
	if gate := c.wait.Load(); gate != nil {
		<-*gate
	}
	return c.Fake.Now()
}

// A Put that has not added its key yet when a Retry begins does not end the
// backoff.
func TestC55PutUnderWayBesideARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowClock{Fake: newFake()}
		c := newJoiner(1, oneSecond, func(o *coalesce.Options[string, string]) {
			o.Queue.Clock, o.Queue.Metrics = slow, true
		})
		require.NoError(t, c.Put("a", "1"))
		takeValue(t, c, "a", "1")
		slow.Step(time.Millisecond) // the next call reads the clock
		gate := make(chan struct{})
		slow.wait.Store(&gate)
		put := returned(func() { assert.NoError(t, c.Put("a", "2")) })
		requireStillFalse(t, put, "it reads the clock")
		slow.wait.Store(nil)
		require.NoError(t, c.Retry("a", "1"))
		close(gate)
		requireBecomesTrue(t, put)
		require.Zero(t, c.Queue().Len())
		slow.Step(2 * time.Second)
		synctest.Wait()
		takeValue(t, c, "a", "12")
		c.Done("a")
		requireNothing(t, c)
	})
}

// The buffer of a huge batch is not kept.
func TestC8C54HugeBatchIsNotKept(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop what they are given now and then")
	}
	c := newJoiner(1)
	dst := make([]coalesce.Entry[string, string], 1<<19)
	require.NoError(t, c.Put("a", "1"))
	before := heap()
	n, err := c.TakeBatch(context.Background(), dst)
	require.NoError(t, err)
	var after runtime.MemStats
	runtime.GC() // once, because a pool keeps its buffers until the second
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-before, int64(len(dst)))
	c.DoneBatch(dst[:n])
	runtime.KeepAlive(c)
}

// With PutEndsBackoff, a value that is put during a backoff, or before it, is
// not delayed.
func TestC55PutEndsBackoff(t *testing.T) {
	forEachClock(t, func(t *testing.T, shards int, line timeline) {
		c := newJoiner(shards, putEndsBackoff, func(o *coalesce.Options[string, string]) { o.Queue.Clock = line.clock })
		require.NoError(t, c.Put("a", "1"))
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Retry("a", "1"))
		require.NoError(t, c.Put("a", "2"))
		takeValue(t, c, "a", "12")
		require.NoError(t, c.Put("a", "3"))
		require.NoError(t, c.Retry("a", "12"))
		takeValue(t, c, "a", "123")
		c.Done("a")
		requireNothing(t, c)
		require.Zero(t, c.Stats().Held, "a delay goes on")
	})
}

// With PutEndsBackoff, a new value cancels the delay of a retry. It does not
// keep running, and cannot shorten the delay of the next retry.
func TestC55RetryThatWasOvertaken(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	c := newJoiner(1, putEndsBackoff, func(o *coalesce.Options[string, string]) {
		o.Queue.Clock, o.Queue.RateLimiter = fake, limiter.NewExponential[string](time.Second, time.Hour)
	})
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Retry("a", "1")) // after a second
	require.NoError(t, c.Put("a", "2"))   // no, at once
	takeValue(t, c, "a", "12")
	fake.Step(time.Second)
	require.NoError(t, c.Retry("a", "12")) // in two
	fake.Step(2*time.Second - 1)
	require.Zero(t, c.Queue().Len(), "it is not yet time")
	fake.Step(1)
	takeValue(t, c, "a", "12")
	c.Done("a")
	requireNothing(t, c)
}

func TestC55ValueIsNotTakenBackAfterShutdown(t *testing.T) {
	c := newJoiner(1)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	c.ShutDown()
	assert.ErrorIs(t, c.PutBack("a", "1"), shardq.ErrShutDown)
	assert.ErrorIs(t, c.Retry("a", "1"), shardq.ErrShutDown)
	assert.Equal(t, 1, c.Stats().Processing)
	c.Done("a")
	requireNothing(t, c)
}

func TestC56CapacityOfKeys(t *testing.T) {
	c := newJoiner(1, capacityOf(2))
	require.NoError(t, c.TryPut("a", "1"))
	require.NoError(t, c.TryPut("b", "1"))
	assert.ErrorIs(t, c.TryPut("c", "1"), shardq.ErrFull)
	require.NoError(t, c.TryPut("a", "2"), "the key has its capacity")
	require.NoError(t, c.Put("c", "1"))
	assert.EqualValues(t, 1, c.Stats().Values.OverCapacity)
	takeValue(t, c, "a", "12")
	assert.ErrorIs(t, c.TryPut("d", "1"), shardq.ErrFull)
	takeValue(t, c, "b", "1")
	require.NoError(t, c.TryPut("d", "1"))
	assert.Equal(t, 2, c.Stats().Values.Weight)
	require.NoError(t, c.PutBack("a", "12"), "a returned value needs no capacity")
	assert.Equal(t, 3, c.Stats().Values.Weight)
}

func TestC56CapacityOfWeight(t *testing.T) {
	c := newJoiner(1, capacityOf(5), weighed)
	require.NoError(t, c.TryPut("a", "12"))
	require.NoError(t, c.TryPut("a", "34"))
	assert.Equal(t, 4, c.Stats().Values.Weight)
	assert.ErrorIs(t, c.TryPut("a", "56"), shardq.ErrFull)
	assert.ErrorIs(t, c.TryPut("b", "56"), shardq.ErrFull)
	require.NoError(t, c.TryPut("b", "5"))
	takeValue(t, c, "a", "1234")
	assert.Equal(t, 1, c.Stats().Values.Weight)
	takeValue(t, c, "b", "5")
	require.NoError(t, c.TryPut("c", "more than five"), "nothing else is pending")
	require.NoError(t, c.Put("a", ""), "a weight of 0 counts as 1")
	assert.Equal(t, len("more than five")+1, c.Stats().Values.Weight)
}

// A merged value takes capacity by its own weight.
func TestC56MergedValueWeighsLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJoiner(1, capacityOf(5), weighed, func(o *coalesce.Options[string, string]) {
			o.Merge = func(_, next string) string { return next }
		})
		require.NoError(t, c.TryPut("a", "123"))
		waiting := make(chan error, 1)
		go func() { waiting <- c.PutContext(context.Background(), "b", "4567") }()
		synctest.Wait()
		require.NoError(t, c.Put("a", "1"))
		synctest.Wait()
		require.NoError(t, <-waiting, "the others weigh one now")
		assert.Equal(t, 5, c.Stats().Values.Weight)
	})
}

func TestC56PutContextWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJoiner(1, capacityOf(1))
		require.NoError(t, c.Put("first", "1"))
		ctx, cancel := context.WithCancel(context.Background())
		errs := make([]error, 4)
		for i, key := range []string{"a", "b", "c", "d"} {
			go func() { errs[i] = c.PutContext(ctx, key, "1") }()
			synctest.Wait()
		}
		assert.ErrorIs(t, c.TryPut("e", "1"), shardq.ErrFull)
		for _, key := range []string{"first", "a", "b"} {
			takeValue(t, c, key, "1")
			c.Done(key)
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		assert.Equal(t, []error{nil, nil, nil, context.Canceled}, errs)
		assert.ErrorIs(t, c.PutContext(ctx, "c", "2"), context.Canceled)
		go func() { errs[0] = c.PutContext(context.Background(), "d", "1") }()
		synctest.Wait()
		c.ShutDown()
		synctest.Wait()
		assert.ErrorIs(t, errs[0], shardq.ErrShutDown)
		takeValue(t, c, "c", "1")
		c.Done("c")
		requireNothing(t, c)
	})
}

// A waiter for capacity needs none if its key gets a value meanwhile.
func TestC56KeyIsPutDuringTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJoiner(1, capacityOf(1))
		require.NoError(t, c.Put("a", "1"))
		go func() { assert.NoError(t, c.PutContext(context.Background(), "b", "2")) }()
		synctest.Wait()
		require.NoError(t, c.Put("b", "1"))
		takeValue(t, c, "a", "1")
		synctest.Wait()
		assert.Equal(t, 1, c.Stats().Values.Weight, "b waits while the key has a value")
		takeValue(t, c, "b", "1")
		synctest.Wait()
		c.Done("b")
		takeValue(t, c, "b", "2")
		c.Done("a")
		c.Done("b")
		requireNothing(t, c)
	})
}

// A slow Merge of a value that has waited for capacity blocks neither later
// waiters nor a TryPut. The values of a key keep the order of the waiters.
func TestC56SlowMergeBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(1, weighed, capacityOf(5), slowMerge(map[string]chan struct{}{"2?": gate}))
		require.NoError(t, c.TryPut("other", "12345"))
		require.NoError(t, c.Put("a", "1"))
		in := make([]bool, 3)
		for i, put := range []text{{Key: "a", Value: "2?"}, {Key: "b", Value: "3"}, {Key: "a", Value: "4"}} {
			go func() {
				assert.NoError(t, c.PutContext(context.Background(), put.Key, put.Value))
				in[i] = true
			}()
			synctest.Wait()
		}
		takeValue(t, c, "other", "12345")
		synctest.Wait()
		require.Equal(t, []bool{false, true, true}, in)
		require.ErrorIs(t, c.TryPut("c", "5"), shardq.ErrFull)
		k, _, err := c.Take(context.Background())
		require.NoError(t, err)
		require.Equal(t, "b", k, "the value of a is being merged")
		require.NoError(t, c.TryPut("c", "5"), "there is capacity, and no waiter")
		close(gate)
		synctest.Wait()
		require.True(t, in[0])
		takeValue(t, c, "c", "5")
		takeValue(t, c, "a", "12?4")
		requireNothing(t, c)
	})
}

// A Merge may put values into its own coalescer, also if its value has waited
// for capacity.
func TestC56MergeMayWaitForCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *coalesce.Coalescer[string, string]
		c = newJoiner(1, weighed, capacityOf(3), func(o *coalesce.Options[string, string]) {
			o.Merge = func(pending, next string) string {
				assert.NoError(t, c.PutContext(context.Background(), "within", "x"))
				return pending + next
			}
		})
		require.NoError(t, c.Put("b", "12"))
		require.NoError(t, c.Put("a", "1"))
		in := returned(func() { assert.NoError(t, c.PutContext(context.Background(), "a", "2")) })
		requireStillFalse(t, in, "there is no capacity")
		takeValue(t, c, "b", "12")
		requireBecomesTrue(t, in)
		takeValue(t, c, "a", "12")
		takeValue(t, c, "within", "x")
		requireNothing(t, c)
	})
}

// If a Put has waited for capacity and its Merge panics, its value is not
// accepted. That holds if its own value cannot be merged, and if the values of
// others cannot.
func TestC56PanicOfAMergeAfterAWait(t *testing.T) {
	for _, put := range []struct{ left, value, first, second string }{
		{"3", "!4", "13", ""}, {"!3", "4", "1", "!3"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newJoiner(1, weighed, capacityOf(5))
			require.NoError(t, c.Put("a", "1"))
			takeValue(t, c, "a", "1")
			require.NoError(t, c.Put("other", "12345"))
			require.NoError(t, c.Put("a", put.left))
			require.NoError(t, c.PutBack("a", "1"))
			refused := returned(func() {
				assert.Panics(t, func() { _ = c.PutContext(context.Background(), "a", put.value) })
			})
			requireStillFalse(t, refused, "there is no capacity")
			takeValue(t, c, "other", "12345")
			requireBecomesTrue(t, refused)
			require.Equal(t, len("1"+put.left), c.Stats().Values.Weight)
			require.NoError(t, c.TryPut("b", "2"), "there is no waiter")
			takeValue(t, c, "a", put.first)
			c.Done("a")
			takeValue(t, c, "b", "2")
			if put.second != "" {
				takeValue(t, c, "a", put.second)
			}
			requireNothing(t, c)
		})
	}
}

func TestC57ShutDownHandsOutWhatIsPending(t *testing.T) {
	c := newJoiner(1, oneHour)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Retry("a", "1"))
	require.NoError(t, c.Put("b", "1"))
	assert.False(t, c.ShuttingDown())
	c.ShutDown()
	c.ShutDown()
	assert.True(t, c.ShuttingDown())
	assert.ErrorIs(t, c.Put("c", "1"), shardq.ErrShutDown)
	assert.ErrorIs(t, c.TryPut("c", "1"), shardq.ErrShutDown)
	assert.ErrorIs(t, c.PutContext(context.Background(), "c", "1"), shardq.ErrShutDown)
	takeValue(t, c, "b", "1")
	takeValue(t, c, "a", "1")
	c.Done("a")
	c.Done("b")
	_, _, err := c.Take(context.Background())
	assert.ErrorIs(t, err, shardq.ErrShutDown)
	requireNothing(t, c)
}

func TestC57DrainReturnsWhatItDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, waiting := range []shardq.DelayedPolicy{shardq.DropDelayed, shardq.RunDelayed, shardq.AwaitDelayed} {
			c := newJoiner(1)
			require.NoError(t, c.Put("a", "1"))
			takeValue(t, c, "a", "1")
			require.NoError(t, c.Retry("a", "1"))
			require.NoError(t, c.Put("b", "1"))
			var taken []string
			go func() {
				for {
					k, v, err := c.Take(context.Background())
					if err != nil {
						return
					}
					taken = append(taken, k+v)
					c.Done(k)
				}
			}()
			dropped, err := c.Drain(context.Background(), shardq.DrainOptions{Delayed: waiting})
			require.NoError(t, err)
			synctest.Wait()
			if waiting == shardq.DropDelayed {
				assert.Equal(t, []string{"b1"}, taken)
				assert.Equal(t, []coalesce.Entry[string, string]{{Key: "a", Value: "1"}}, dropped)
			} else {
				assert.Equal(t, []string{"b1", "a1"}, taken)
				assert.Empty(t, dropped)
			}
			assert.ErrorIs(t, c.Put("c", "1"), shardq.ErrShutDown)
			requireNothing(t, c)
		}
	})
}

func TestC57DrainEndsEarly(t *testing.T) {
	c := newJoiner(1, oneHour)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Retry("a", "1"))
	require.NoError(t, c.Put("b", "2"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dropped, err := c.Drain(ctx, shardq.DrainOptions{})
	var left *shardq.DrainError[string]
	require.True(t, errors.As(err, &left))
	assert.Equal(t, 1, left.Ready)
	assert.Equal(t, []coalesce.Entry[string, string]{{Key: "a", Value: "1"}}, dropped)
	takeValue(t, c, "b", "2")
	c.Done("b")
	requireNothing(t, c)
	assert.Panics(t, func() { _, _ = c.Drain(ctx, shardq.DrainOptions{Delayed: 99}) })
}

// A value that is delayed for its retry is delayed together with a later one,
// and a Drain drops both.
func TestC57DrainDropsDelayedValuesTogether(t *testing.T) {
	c := newJoiner(1, oneHour)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Retry("a", "1"))
	require.NoError(t, c.Put("a", "2"))
	dropped, err := c.Drain(context.Background(), shardq.DrainOptions{})
	require.NoError(t, err)
	assert.Equal(t, []coalesce.Entry[string, string]{{Key: "a", Value: "12"}}, dropped)
	requireNothing(t, c)
}

// With PutEndsBackoff, both are ready: a Drain that drops the delay does not
// drop the value.
func TestC57DrainLeavesReadyValues(t *testing.T) {
	c := newJoiner(1, oneHour, putEndsBackoff)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	require.NoError(t, c.Retry("a", "1"))
	require.NoError(t, c.Put("a", "2"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dropped, err := c.Drain(ctx, shardq.DrainOptions{})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, dropped)
	takeValue(t, c, "a", "12")
	c.Done("a")
	requireNothing(t, c)
}

// A shutdown does not wait for a running Put, and does not lose its value.
func TestC57ShutDownBesideAPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Merge = func(a, b string) string { <-gate; return a + b }
		})
		require.NoError(t, c.Put("a", "1"))
		go func() { assert.NoError(t, c.Put("a", "2")) }()
		synctest.Wait()
		c.ShutDown()
		var drained bool
		go func() {
			dropped, err := c.Drain(context.Background(), shardq.DrainOptions{})
			assert.NoError(t, err)
			assert.Empty(t, dropped)
			drained = true
		}()
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := c.Drain(ctx, shardq.DrainOptions{})
			gaveUp <- err
		}()
		synctest.Wait()
		cancel()
		assert.ErrorIs(t, <-gaveUp, context.Canceled)
		close(gate)
		synctest.Wait()
		assert.False(t, drained)
		takeValue(t, c, "a", "12")
		c.Done("a")
		synctest.Wait()
		assert.True(t, drained)
	})
}

func TestC17C54PanickingMerge(t *testing.T) {
	for _, size := range []int{1, 4} {
		c := newJoiner(1, capacityOf(10), weighed)
		require.NoError(t, c.Put("a", "1"))
		assert.Panics(t, func() { _ = c.Put("a", "!") })
		assert.Equal(t, 1, c.Stats().Values.Weight, "it was not taken in")
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Put("a", "!"))
		require.NoError(t, c.Put("a", "2"))
		require.NoError(t, c.PutBack("a", "1"))
		require.NoError(t, c.Put("b", "3"))
		dst := make([]coalesce.Entry[string, string], size)
		assert.Panics(t, func() { _, _ = c.TakeBatch(context.Background(), dst) })
		assert.Equal(t, 4, c.Stats().Values.Weight, "nothing was taken")
		assert.Zero(t, c.Stats().Processing)
		var got []string
		for c.Queue().Len() > 0 {
			n, err := c.TakeBatch(context.Background(), dst)
			require.NoError(t, err)
			for _, p := range dst[:n] {
				got = append(got, p.Key+p.Value)
			}
			c.DoneBatch(dst[:n])
		}
		slices.Sort(got)
		assert.Equal(t, []string{"a!2", "a1", "b3"}, got)
		requireNothing(t, c)
	}
}

// After a shutdown, too, values that cannot be merged are handed out one by
// one.
func TestC17C57PanickingMergeAfterShutdown(t *testing.T) {
	for _, batch := range []bool{false, true} {
		c := newJoiner(2)
		require.NoError(t, c.Put("a", "1"))
		takeValue(t, c, "a", "1")
		require.NoError(t, c.Put("a", "!"))
		require.NoError(t, c.PutBack("a", "1"))
		c.ShutDown()
		dst := make([]coalesce.Entry[string, string], 2)
		next := func() (string, error) {
			if batch {
				n, err := c.TakeBatch(context.Background(), dst)
				return strings.Repeat(dst[0].Key+dst[0].Value, n), err
			}
			k, v, err := c.Take(context.Background())
			return k + v, err
		}
		assert.Panics(t, func() { _, _ = next() })
		for _, want := range []string{"a1", "a!"} {
			got, err := next()
			require.NoError(t, err)
			assert.Equal(t, want, got)
			if batch {
				c.DoneBatch(dst[:1])
			} else {
				c.Done("a")
			}
		}
		_, err := next()
		assert.ErrorIs(t, err, shardq.ErrShutDown)
		dropped, err := c.Drain(context.Background(), shardq.DrainOptions{})
		assert.NoError(t, err)
		assert.Empty(t, dropped)
		requireNothing(t, c)
	}
}

func TestC17C54MergeThatEndsItsGoroutine(t *testing.T) {
	c := newJoiner(1, func(o *coalesce.Options[string, string]) {
		o.Merge = func(a, b string) string {
			if b == "end" {
				runtime.Goexit()
			}
			return a + b
		}
	})
	require.NoError(t, c.Put("a", "1"))
	var producer sync.WaitGroup
	producer.Go(func() { _ = c.Put("a", "end") })
	producer.Wait()
	require.NoError(t, c.Put("a", "2"))
	takeValue(t, c, "a", "12")
	c.Done("a")
	requireNothing(t, c)
}

// User code may call the coalescer, because no lock is held.
func TestC17C54UserCodeMayUseTheCoalescer(t *testing.T) {
	var c *coalesce.Coalescer[string, string]
	inside := 0
	use := func() {
		if inside++; inside == 1 {
			assert.NoError(t, c.Put("a", "nested"))
			assert.NoError(t, c.Put("other", "value"))
			_ = c.Stats()
			k, _, err := c.Take(context.Background())
			assert.NoError(t, err)
			c.Done(k)
		}
		inside--
	}
	c = newJoiner(1, weighed, func(o *coalesce.Options[string, string]) {
		o.Capacity = 1000
		o.Merge = func(a, b string) string { use(); return a + b }
		o.Weight = func(v string) int { use(); return len(v) }
	})
	require.NoError(t, c.Put("b", "1"))
	require.NoError(t, c.Put("a", "2"))
	require.NoError(t, c.Put("a", "3"))
	c.ShutDown()
	for {
		k, _, err := c.Take(context.Background())
		if err != nil {
			break
		}
		c.Done(k)
	}
	requireNothing(t, c)
}

func TestC17C54PanickingHashAndLimiter(t *testing.T) {
	c := newJoiner(1, func(o *coalesce.Options[string, string]) {
		o.Queue.Hash = func(key string) uint64 {
			if key == "!" {
				panic("on purpose")
			}
			return 1
		}
		o.Queue.RateLimiter = panickingLimiter{}
	})
	assert.Panics(t, func() { _ = c.Put("!", "1") })
	assert.Zero(t, c.Len())
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	assert.Panics(t, func() { _ = c.Retry("a", "1") })
	assert.Zero(t, c.Len(), "the value is the caller's")
	assert.Panics(t, func() { c.Done("a") })
	assert.Zero(t, c.Stats().Processing)
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
	assert.Panics(t, func() { c.DoneBatch([]coalesce.Entry[string, string]{{Key: "a"}}) })
	assert.Zero(t, c.Stats().Processing)
}

// A Group or GroupPolicy that panics does so before the value is accepted.
func TestC17C54PanickingGroup(t *testing.T) {
	c := newJoiner(1, func(o *coalesce.Options[string, string]) {
		o.Queue.Group = func(key string) string { return key[:1] }
		o.Queue.GroupPolicy = func(group string) (p shardq.GroupPolicy) {
			if group == "b" {
				panic("on purpose")
			}
			return p
		}
	})
	for _, key := range []string{"", "b"} {
		assert.Panics(t, func() { _ = c.Put(key, "1") })
		assert.Panics(t, func() { _ = c.PutContext(context.Background(), key, "1") })
		assert.Zero(t, c.Len())
	}
	require.NoError(t, c.Put("a", "1"))
	takeValue(t, c, "a", "1")
}

type panickingLimiter struct{}

func (panickingLimiter) When(string) time.Duration { panic("on purpose") }
func (panickingLimiter) Forget(string)             { panic("on purpose") }
func (panickingLimiter) NumRequeues(string) int    { return 0 }

func TestC8C54SteadyStateAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	c := coalesce.MustNew(coalesce.Options[string, int]{
		Capacity: 1000, Merge: func(a, b int) int { return a + b }, Weight: func(int) int { return 1 },
	})
	ctx := context.Background()
	dst := make([]coalesce.Entry[string, int], 8)
	keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	cycle := func() {
		for range 3 {
			for _, key := range keys {
				_ = c.TryPut(key, 1)
			}
		}
		for left := 8; left > 4; left-- {
			k, _, _ := c.Take(ctx)
			c.Done(k)
		}
		for left := 4; left > 0; {
			n, _ := c.TakeBatch(ctx, dst)
			c.DoneBatch(dst[:n])
			left -= n
		}
	}
	cycle()
	assert.LessOrEqual(t, testing.AllocsPerRun(100, cycle), 1.0, "a buffer now and then")
}

// The memory of a burst of any size is returned when its values have been
// taken.
func TestC8C54MemoryReturnsAfterABurst(t *testing.T) {
	ctx := context.Background()
	for _, keys := range []int{2_000, 200_000} {
		c := coalesce.MustNew(coalesce.Options[int, int]{
			Queue: shardq.Options[int]{Shards: 1}, Merge: func(a, b int) int { return a + b },
		})
		before := heap()
		for range 2 {
			for key := range keys {
				require.NoError(t, c.Put(key, 1))
			}
			for range keys {
				key, _, err := c.Take(ctx)
				require.NoError(t, err)
				c.Done(key)
			}
		}
		allowed := 128 << 10 * min(runtime.GOMAXPROCS(0), 8) // 64 stripes, 16 small entries and a small map each
		assert.Less(t, heap()-before, int64(allowed))
		runtime.KeepAlive(c)
	}
}

// The coalescer keeps no reference to a taken value.
func TestC7C54NothingRefersToATakenValue(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, *payload]{Merge: func(_, next *payload) *payload { return next }})
	requireCollectedValues(t, c)
}

// requireCollectedValues puts and takes values, and requires that the collector
// frees them.
func requireCollectedValues(t *testing.T, c *coalesce.Coalescer[int, *payload]) {
	t.Helper()
	var all []weak.Pointer[payload]
	put := func(key int) {
		value := new(payload)
		all = append(all, weak.Make(value))
		require.NoError(t, c.Put(key, value))
	}
	for key := range 100 {
		put(key)
		put(key)
	}
	for range 100 {
		key, value, err := c.Take(context.Background())
		require.NoError(t, err)
		put(key)
		require.NoError(t, c.PutBack(key, value))
	}
	for range 100 {
		key, _, err := c.Take(context.Background())
		require.NoError(t, err)
		c.Done(key)
	}
	runtime.GC()
	runtime.GC()
	for i := range all {
		require.Nil(t, all[i].Value(), "value %d is still referred to", i)
	}
	runtime.KeepAlive(c)
}

// TestC54PutsAreCounted checks the number of accepted Puts, and of those whose
// key had a value.
func TestC54PutsAreCounted(t *testing.T) {
	c := newJoiner(1, capacityOf(1))
	defer c.ShutDown()
	counted := func() [3]uint64 {
		v := c.Stats().Values
		assert.Equal(t, v, c.Queue().Stats().Values)
		assert.Equal(t, 1, v.Capacity)
		return [3]uint64{v.Put, v.Merged, v.OverCapacity}
	}
	require.Equal(t, [3]uint64{}, counted())
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.TryPut("a", "2"))
	require.Equal(t, [3]uint64{2, 1, 0}, counted())
	require.ErrorIs(t, c.TryPut("b", "3"), shardq.ErrFull)
	require.Panics(t, func() { _ = c.Put("a", "!") })
	require.Equal(t, [3]uint64{2, 1, 0}, counted(), "neither was taken in")
	require.NoError(t, c.Put("b", "4"))
	require.Equal(t, [3]uint64{3, 1, 1}, counted())

	key, value, err := c.Take(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.PutBack(key, value))
	require.Equal(t, [3]uint64{3, 1, 2}, counted(), "that was put before")
	for _, giveBack := range []func(string, string) error{c.PutBack, c.Retry} {
		key, value, err = c.Take(t.Context())
		require.NoError(t, err)
		require.NoError(t, c.Put(key, "5"))
		before := counted()
		require.NoError(t, giveBack(key, value))
		require.Equal(t, before, counted(), "the key has its capacity")
	}
	before := counted()
	c.ShutDown()
	require.ErrorIs(t, c.Put("a", "6"), shardq.ErrShutDown)
	require.Equal(t, before, counted())
}

// slowToStop is a real clock whose timers take a second to stop.
type slowToStop struct{ clock.Clock }

func (c slowToStop) AfterFunc(d time.Duration, f func()) clock.Timer {
	return slowTimer{c.Clock.AfterFunc(d, f)}
}

type slowTimer struct{ clock.Timer }

func (t slowTimer) Stop() bool {
	time.Sleep(time.Second) // in a bubble: all other goroutines run meanwhile
	return t.Timer.Stop()
}

// TestC57ShutDownAndDrainBesideAPut checks that the ShutDown happens after the
// Put has returned. It ends the Drains that began before it, and not one that
// began after it.
func TestC57ShutDownAndDrainBesideAPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Merge = func(a, b string) string { <-gate; return a + b }
			o.Queue.Clock = slowToStop{clock.Real()}
			oneHour(o)
		})
		require.NoError(t, c.Put("delayed", "1"))
		takeValue(t, c, "delayed", "1")
		require.NoError(t, c.Retry("delayed", "1"))
		require.NoError(t, c.Put("a", "1"))
		go func() { assert.NoError(t, c.Put("a", "2")) }()
		synctest.Wait()

		drain := func() <-chan error {
			over := make(chan error, 1)
			go func() {
				_, err := c.Drain(context.Background(), shardq.DrainOptions{Delayed: shardq.AwaitDelayed})
				over <- err
			}()
			synctest.Wait()
			return over
		}
		earlier := drain()
		c.ShutDown()
		later := drain()
		close(gate)
		require.ErrorIs(t, <-earlier, shardq.ErrShutDown)
		synctest.Wait()
		require.Empty(t, later)
		for range 2 { // the retry is ready at once
			key, _, err := c.Take(context.Background())
			require.NoError(t, err)
			c.Done(key)
		}
		require.NoError(t, <-later)
	})
}

// On 32-bit platforms an int limits a weight, and their sum in Stats. The
// capacity itself counts further.
func TestC56GreatestWeight(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, int]{
		Merge:  func(pending, next int) int { return pending + next },
		Weight: func(int) int { return math.MaxInt },
	})
	for key := range 3 {
		require.NoError(t, c.Put(key, 1))
	}
	greatest := int64(coalesce.MaxValueWeight)
	require.Equal(t, min(int64(1<<40), int64(math.MaxInt)), greatest)
	require.Equal(t, int(min(3*greatest, int64(math.MaxInt))), c.Stats().Values.Weight)
	for range 3 {
		key, _, err := c.Take(t.Context())
		require.NoError(t, err)
		c.Done(key)
	}
	require.Zero(t, c.Stats().Values.Weight)
}

// A value is refused before it is accepted if the queue cannot hold its key.
// The test lowers the limit of a shard for that.
func TestC54FullShard(t *testing.T) {
	const ids = 1024
	for name, put := range map[string]func(*coalesce.Coalescer[int, int], int) error{
		"Put":        func(c *coalesce.Coalescer[int, int], key int) error { return c.Put(key, 1) },
		"TryPut":     func(c *coalesce.Coalescer[int, int], key int) error { return c.TryPut(key, 1) },
		"PutContext": func(c *coalesce.Coalescer[int, int], key int) error { return c.PutContext(t.Context(), key, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			c := coalesce.MustNew(coalesce.Options[int, int]{
				Queue: shardq.Options[int]{Shards: 1}, Capacity: 2 * ids,
				Merge: func(a, b int) int { return a + b },
			})
			bound := reflect.ValueOf(c).Elem().FieldByName("queue").Elem().FieldByName("shards").Elem().FieldByName("ids")
			*(*uint32)(bound.Addr().UnsafePointer()) = ids

			in := 0
			for err := error(nil); err == nil; in++ {
				if err = put(c, in); err != nil {
					require.ErrorIs(t, err, shardq.ErrFull)
					in--
				}
			}
			require.Greater(t, in, ids-8)
			require.Equal(t, in, c.Stats().Values.Keys, "what was refused is not in")
			require.Equal(t, in, c.Stats().Ready)
			require.EqualValues(t, in, c.Stats().Values.Put)
			require.NoError(t, put(c, 0), "a key that is pending takes more")

			key, value, err := c.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, 2, value)
			c.Done(key)
			require.NoError(t, put(c, in), "in the place of another one")
			c.ShutDown()
		})
	}
}
