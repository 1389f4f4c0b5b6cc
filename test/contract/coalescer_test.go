package contract

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/nowait"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
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

func capacityOf(n int) func(*coalesce.Options[string, string]) {
	return func(o *coalesce.Options[string, string]) { o.Capacity = n }
}

func weighed(o *coalesce.Options[string, string]) { o.Weight = func(v string) int { return len(v) } }

// takeValue takes the one value that is expected next.
func takeValue(t *testing.T, c *coalesce.Coalescer[string, string], key, value string) {
	require.NotZero(t, c.Queue().Len(), "nothing is ready")
	k, v, err := c.Take(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{key, value}, []string{k, v})
}

// requireNothing checks that no key is ready and that none has a value.
func requireNothing(t *testing.T, c *coalesce.Coalescer[string, string]) {
	require.Zero(t, c.Queue().Len())
	require.Zero(t, c.Len())
	require.Zero(t, c.Stats().Values.Weight)
}

// If Merge panics in a large batch, all its keys are ready again.
func TestC54PanicInALargeBatch(t *testing.T) {
	const keys = 200
	c, claims := newJoiner(2), make([]worker.Claim[text], keys)
	for key := range keys {
		require.NoError(t, c.Put(fmt.Sprint(key), "1"))
	}
	n, err := c.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, keys, n)
	for _, claim := range claims {
		require.NoError(t, c.Put(claim.Item.Key, map[bool]string{true: "!", false: "2"}[claim.Item.Key == "199"]))
		require.NoError(t, claim.Release())
	}
	require.Panics(t, func() { _, _ = c.ClaimBatch(t.Context(), claims) })
	require.Equal(t, [2]int{keys, 0}, [2]int{c.Stats().Ready, c.Stats().Processing})
}

// If a Put has waited for capacity and its Merge panics, its value is not
// accepted. That holds if its own value cannot be merged, and if the values of
// others cannot.
func TestC56PanicOfAMergeAfterAWait(t *testing.T) {
	for _, put := range []struct {
		left, value, first, second string
		merged                     uint64
	}{
		{"3", "!4", "135", "", 2}, {"!3", "4", "1", "!35", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newJoiner(1, weighed, capacityOf(5))
			require.NoError(t, c.Put("a", "1"))
			takeValue(t, c, "a", "1")
			require.NoError(t, c.Put("other", "12345"))
			require.NoError(t, c.Put("a", put.left))
			require.NoError(t, c.PutBack("a", "1"))
			refused := returned(func() {
				assert.Panics(t, func() { _ = c.PutContext(context.Background(), "a", put.value, coalesce.PutOptions{}) })
			})
			requireStillFalse(t, refused, "there is no capacity")
			takeValue(t, c, "other", "12345")
			requireBecomesTrue(t, refused)
			require.Equal(t, len("1"+put.left), c.Stats().Values.Weight)
			require.NoError(t, c.TryPut("b", "2", coalesce.PutOptions{}), "there is no waiter")
			require.NoError(t, c.Put("a", "5"))
			require.Equal(t, put.merged, c.Stats().Values.Merged)
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

// A Put may leave it to another one to raise the key's priority, whose Merge panics then.
func TestC77PanicBesideAPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *coalesce.Coalescer[string, string]
		c = newJoiner(1, weighed, capacityOf(2), func(o *coalesce.Options[string, string]) {
			o.Merge = func(string, string) string { _ = c.Put("a", "3"); panic(errOnPurpose) }
		})
		require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Priority: -1}))
		require.NoError(t, c.Put("b", "1"))
		over := returned(func() { recovered(func() { _ = c.PutContext(t.Context(), "a", "2", coalesce.PutOptions{}) }) })
		requireStillFalse(t, over, "there is no capacity")
		c.Cancel("b")
		requireBecomesTrue(t, over)
		row, _ := c.Queue().Lookup("a")
		require.Zero(t, row.Priority)
	})
}

// A drain drops the delay of a Retry that has not returned: it has the value, too.
func TestC42C55DropBesideARetry(t *testing.T) {
	var c *coalesce.Coalescer[string, string]
	var dropped []coalesce.Entry[string, string]
	drain := func() { dropped, _ = c.Drain(atOnce(), shardq.DrainOptions{Retries: shardq.AcceptRetries}) }
	c = newJoiner(1, func(o *coalesce.Options[string, string]) {
		o.Queue.Clock = hookedClock{newFake(), func(call string) {
			if call == "AfterFunc" {
				drain()
			}
		}}
	})
	require.NoError(t, c.Put("a", "1"))
	claim, err := c.Claim(t.Context())
	require.NoError(t, err)
	drain() // from here on, it counts no calls that return values
	require.NoError(t, claim.Retry())
	require.Equal(t, []coalesce.Entry[string, string]{{Key: "a", Value: "1"}}, dropped)
	requireNothing(t, c)
	require.Zero(t, c.Stats().Held)
}

// A Drain returns the values of the keys that it has dropped, also if the clock
// lets another Drain end first.
func TestC42C57ADrainReturnsWhatItDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Queue.Clock = hookedClock{newFake(), func(call string) {
				if call == "Stop" { // by the Drain that closes the queue
					<-gate
				}
			}}
		})
		require.NoError(t, c.PutWith("a", "1", coalesce.PutOptions{Delay: time.Hour}))
		idle := park(func(ctx context.Context) string { return outcome(c.WaitIdle(ctx)) })
		drain := func(delayed shardq.DelayedPolicy) *parkedCall {
			return park(func(context.Context) string {
				return outcome(c.Drain(t.Context(), shardq.DrainOptions{Delayed: delayed}))
			})
		}
		awaits, drops := drain(shardq.AwaitDelayed), drain(shardq.DropDelayed)
		require.Equal(t, "[[] <nil>]", awaits.result)
		close(gate)
		synctest.Wait()
		require.Equal(t, "[[{Key:a Value:1}] <nil>]", drops.result)
		require.Equal(t, "[<nil>]", idle.result)
	})
}

// A Drain that ends early leaves the values that come back while it withdraws keys. What it
// has collected when a hook panics, the next Drain returns.
func TestC42C57ReturnsBesideADrainThatDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, armed := (*coalesce.Coalescer[string, string])(nil), false
		c = newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Queue.Watermarks = shardq.Watermarks{High: 3, Low: 2, On: func(w shardq.Watermark) {
				if armed {
					require.NoError(t, c.PutBack("a", "1"))
					require.NoError(t, c.PutBack("c", "1"))
					panic(errOnPurpose)
				}
			}}
		})
		for _, key := range []string{"a", "b", "c"} {
			require.NoError(t, c.Put(key, "1"))
			takeValue(t, c, key, "1")
			require.NoError(t, c.PutWith(key, "2", coalesce.PutOptions{Delay: time.Hour}))
		}
		o := shardq.DrainOptions{Retries: shardq.AcceptRetries}
		drain := park(func(ctx context.Context) string {
			return outcome(recovered(func() { _, _ = c.Drain(ctx, o) }))
		})
		require.NoError(t, c.PutBack("b", "1"))
		armed = true // until the key b is withdrawn
		drain.cancel()
		synctest.Wait()
		require.Contains(t, drain.result, errOnPurpose.Error())
		dropped, _ := c.Drain(nowait.Ended, o)
		require.Equal(t, "[[{Key:a Value:2} {Key:b Value:1} {Key:b Value:2} {Key:c Value:2}]]", outcome(dropped))
		takeValue(t, c, "a", "1")
		takeValue(t, c, "c", "1")
		c.Done("a")
		c.Done("c")
		_, _ = c.Drain(t.Context(), o)
		require.ErrorIs(t, c.PutBack("a", "1"), shardq.ErrShutDown, "after the end, the key is in nobody's hands")
		require.Zero(t, c.Stats().Held+c.Len())
	})
}

// A hook that panics below two items leaves Left with all values, and after a Cancel a
// value without its key, which a Drain returns.
func TestC57PanicOfAHook(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Queue.Watermarks = shardq.Watermarks{High: 2, Low: 1, On: func(w shardq.Watermark) {
				if !w.High {
					panic(errOnPurpose)
				}
			}}
		})
		require.NoError(t, c.Put("a", "1"))
		require.NoError(t, c.Put("b", "2"))
		if !cancels {
			_, err := c.Drain(nowait.Ended, shardq.DrainOptions{})
			left, _ := errors.AsType[*coalesce.DrainError[string, string]](err)
			require.NotNil(t, recovered(func() { left.Left() }))
			require.Len(t, left.Left(), 2)
			requireNothing(t, c)
			continue
		}
		c.ShutDown()
		takeValue(t, c, "a", "1")
		require.Equal(t, errOnPurpose, recovered(func() { c.Cancel("b") }))
		c.Done("a")
		require.Equal(t, "[[{Key:b Value:2}] <nil>]", outcome(c.Drain(t.Context(), shardq.DrainOptions{})))
	}
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

// TestC57LeftWaitsForAMerge checks that a Drain that ends early lists the value
// that a Put is merging, once.
func TestC57LeftWaitsForAMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		merging, goOn := make(chan bool), make(chan bool)
		c := coalesce.MustNew(coalesce.Options[string, int]{Merge: func(pending, next int) int {
			close(merging)
			<-goOn
			return pending + next
		}})
		require.NoError(t, c.Put("a", 1))
		put := returned(func() { assert.NoError(t, c.Put("a", 2)) })
		<-merging
		_, err := c.Drain(nowait.Ended, shardq.DrainOptions{})
		left, _ := errors.AsType[*coalesce.DrainError[string, int]](err)
		var entries []coalesce.Entry[string, int]
		looked := returned(func() { entries = left.Left() })
		requireStillFalse(t, looked, "the value is with Merge")
		close(goOn)
		requireBecomesTrue(t, looked)
		requireBecomesTrue(t, put)
		require.Equal(t, []coalesce.Entry[string, int]{{Key: "a", Value: 3}}, entries)
		require.Equal(t, entries, left.Left())
		require.Zero(t, c.Len())
		require.Zero(t, c.Queue().Len())
	})
}

func readable(o *coalesce.Options[string, string]) { o.Readable = true }

// While a Put merges, its older value and those behind it can be read.
func TestC78PeekDuringAMerge(t *testing.T) {
	var c *coalesce.Coalescer[string, string]
	seen := ""
	c = newJoiner(1, readable, func(o *coalesce.Options[string, string]) {
		o.Merge = func(pending, next string) string {
			if next == "2" && seen == "" {
				seen = "?"
				_ = c.Put("a", "3")
				seen, _ = c.Peek("a")
				_, canceled := c.Cancel("a")
				if canceled {
					seen = "canceled"
				}
				_ = c.Put("a", "4")
			}
			return pending + next
		}
	})
	require.NoError(t, c.Put("a", "1"))
	require.NoError(t, c.Put("a", "2"))
	require.Equal(t, "13", seen, "the Put of 2 has not returned")
	value, ok := c.Cancel("a")
	require.True(t, ok)
	require.Equal(t, "1234", value)
}

// A Cancel during the Merge of a Claim cancels what the claim has, and nothing that
// is put later.
func TestC78CancelDuringAClaim(t *testing.T) {
	c := newJoined(joinSetup{Shards: 1}, nil)
	put := func(value string) { require.NoError(t, c.Put("", value)) }
	put("1")
	_, err := c.ClaimBatch(t.Context(), c.claims[:1])
	require.NoError(t, err)
	put("2")
	c.at, c.inside = 2, func() {
		put("4")
		require.NoError(t, c.claims[0].Release())
	}
	put("3")
	c.at, c.inside = 1, func() {
		for range 3 {
			_, canceled := c.Cancel("")
			require.False(t, canceled)
			put("5")
		}
	}
	_, err = c.ClaimBatch(t.Context(), c.claims[1:2])
	require.NoError(t, err)
	require.Equal(t, "1234", c.claims[1].Item.Value)
	require.EqualValues(t, 5, c.Stats().Values.Merged, "the puts have merged with each other")
	require.NoError(t, c.claims[1].Retry())
	_, err = c.ClaimBatch(atOnce(), c.claims[2:3])
	require.NoError(t, err)
	require.Equal(t, "555", c.claims[2].Item.Value)
}

// A Done that is not owed ends a processing, whose owner's Done comes too late. The
// value is done all the same.
func TestC85DoneThatIsNotOwed(t *testing.T) {
	var c *coalesce.Coalescer[string, string]
	var source *coalesce.Source[string, string]
	c = newJoiner(1, readable, func(o *coalesce.Options[string, string]) {
		o.Queue.RateLimiter = hookedLimiter[string]{limiter.NewExponential[string](1, 1), func(function string) {
			if function == "Forget" && source.Safe() == 0 && c.Len() == 0 && c.Stats().Processing == 0 {
				require.NoError(t, source.Put("a", "1", 0))
				takeValue(t, c, "a", "1")
			}
		}}
	})
	source, _ = c.NewSource("log", 0)
	c.Done("a")
	c.Done("a")
	require.EqualValues(t, 1, source.Safe())
	_, shown := c.Peek("a")
	require.False(t, shown)
}

// The next Drop returns what one has taken out that panics.
func TestC86PanicInADropLosesNothing(t *testing.T) {
	for _, function := range []string{"Hash", "Forget", "OnAdd"} {
		var f faults
		c := newJoiner(1, func(o *coalesce.Options[string, string]) {
			o.Queue.Hash = func(string) uint64 { f.call("Hash"); return 0 }
			o.Queue.OnAdd = func(stats.Add[string]) { f.call("OnAdd") }
			o.Queue.RateLimiter = hookedLimiter[string]{limiter.NewExponential[string](1, 1), f.call}
		})
		source, _ := c.NewSource("log", 0)
		for i, key := range []string{"a", "b", "c"} {
			require.NoError(t, source.Put(key, "1", int64(i)))
		}
		f.arm(function, 2)
		require.True(t, caught(func() { source.Drop() }), function)
		require.Len(t, source.Drop(), 3, function)
	}
}

// A key that is not equal to itself is refused. Options list their faults.
func TestC54ImpossibleKeysAndOptions(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[any, int]{Merge: func(a, b int) int { return a + b }})
	nan := any(math.NaN())
	for _, err := range []error{
		c.Put(nan, 1), c.TryPut(nan, 1, coalesce.PutOptions{}), c.PutContext(t.Context(), nan, 1, coalesce.PutOptions{}), c.PutWith(nan, 1, coalesce.PutOptions{}), c.PutBack(nan, 1), c.Retry(nan, 1),
	} {
		require.ErrorIs(t, err, shardq.ErrRejected)
	}
	require.Panics(t, func() { _ = c.Put([]int{1}, 1) })
	require.Panics(t, func() { _ = c.PutWith(1, 1, coalesce.PutOptions{Policy: 9}) })
	require.Panics(t, func() { c.Peek(1) })
	require.Zero(t, c.Len())
	require.NoError(t, c.Put(1, 1), "nothing is left locked")

	_, err := coalesce.New(coalesce.Options[string, int]{
		Queue:    shardq.Options[string]{Shards: -1, Capacity: 1},
		Capacity: -1, Linger: -1, LingerValues: -1,
	})
	for _, fault := range []string{
		"Merge is nil", "coalesce: Options.Capacity is -1", "Queue.Capacity is 1", "Shards is -1", "Linger is -1ns", "LingerValues is -1",
	} {
		require.ErrorContains(t, err, fault)
	}
	_, err = coalesce.New(coalesce.Options[string, string]{LingerValues: 1, Merge: joined})
	require.ErrorContains(t, err, "want 0 without Linger")
	require.Panics(t, func() { coalesce.MustNew(coalesce.Options[string, int]{}) })
}

// A value is refused before it is accepted if the queue cannot hold its key.
// The test lowers the limit of a shard for that.
func TestC54FullShard(t *testing.T) {
	const ids = 1024
	c := newJoiner(1, capacityOf(2*ids))
	bound := reflect.ValueOf(c).Elem().FieldByName("queue").Elem().FieldByName("shards").Elem().FieldByName("Core").Elem().FieldByName("ids")
	*(*uint32)(bound.Addr().UnsafePointer()) = ids
	in := 0
	for ; in < ids; in++ {
		if err := c.Put(fmt.Sprint(in), "1"); err != nil {
			require.ErrorIs(t, err, shardq.ErrFull)
			break
		}
	}
	require.Greater(t, in, ids-8)
	require.ErrorIs(t, c.TryPut("new", "1", coalesce.PutOptions{}), shardq.ErrFull)
	require.Equal(t, []int{in, in, in}, []int{c.Len(), c.Stats().Ready, int(c.Stats().Values.Put)}, "what was refused is not in")
	require.NoError(t, c.Put("0", "2"), "a key that is pending takes more")
	takeValue(t, c, "0", "12")
	c.Done("0")
	require.NoError(t, c.PutContext(t.Context(), "new", "1", coalesce.PutOptions{}), "in the place of another one")
	c.ShutDown()
}

// In steady state nothing is allocated.
func TestC8C54SteadyStateAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	c := newJoiner(1, capacityOf(1000), weighed, func(o *coalesce.Options[string, string]) {
		o.Merge = func(pending, _ string) string { return pending }
	})
	ctx := context.Background()
	claims := make([]worker.Claim[text], 8)
	cycle := func() {
		for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			_, _ = c.TryPut(key, "x", coalesce.PutOptions{}), c.Put(key, "x")
		}
		key, _, _ := c.Take(ctx)
		c.Done(key)
		claim, _ := c.Claim(ctx)
		_ = claim.Release()
		for range 2 {
			n, _ := c.ClaimBatch(ctx, claims[:4])
			_ = c.DoneClaims(claims[:n])
		}
	}
	cycle()
	require.LessOrEqual(t, testing.AllocsPerRun(100, cycle), 1.0, "a buffer now and then")
}

// The coalescer keeps no reference to a taken value.
func TestC7C54NothingRefersToATakenValue(t *testing.T) {
	c := coalesce.MustNew(coalesce.Options[int, *payload]{Merge: func(_, next *payload) *payload { return next }})
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
		key, value, err := c.Take(t.Context())
		require.NoError(t, err)
		put(key)
		require.NoError(t, c.PutBack(key, value))
	}
	for range 100 {
		key, _, err := c.Take(t.Context())
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

type text = coalesce.Entry[string, string]
