package coalesce

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
)

func sum(pending, next int) int { return pending + next }

func TestNewListsEveryFault(t *testing.T) {
	_, err := New(Options[string, int]{Capacity: -1, Queue: shardq.Options[string]{
		Capacity: 1, Shards: -1,
	}})
	require.EqualError(t, err, strings.Join([]string{
		"coalesce: Options.Merge is nil: want a function",
		"coalesce: Options.Capacity is -1: want 0 (no limit) or more",
		"coalesce: Options.Queue.Capacity is 1: want 0, and Options.Capacity instead",
		"shardq: Options.Shards is -1: want 0 (the default) to 4096",
	}, "\n"))
	require.PanicsWithValue(t, "coalesce: Options.Merge is nil: want a function", func() { MustNew(Options[string, int]{}) })
}

// TestC55PutBetweenTheStepsOfARetry: a value is put after the returned value
// was inserted, and before its key is delayed. With PutEndsBackoff, the key is
// not delayed then.
func TestC55PutBetweenTheStepsOfARetry(t *testing.T) {
	for _, ends := range []bool{false, true} {
		fake := clock.NewFake(time.Unix(0, 0))
		c := MustNew(Options[string, string]{
			Queue: shardq.Options[string]{Clock: fake}, PutEndsBackoff: ends,
			Merge: func(a, b string) string { return a + b },
		})
		require.NoError(t, c.Put("a", "1"))
		_, value, err := c.Take(context.Background())
		require.NoError(t, err)

		r := valueReturn[string, string]{c: c, stripe: c.stripeOf("a"), key: "a", value: value, weight: 1, at: c.shards.HandleOf("a")}
		r.setDelay(time.Second)
		require.True(t, r.insert())
		require.NoError(t, c.Put("a", "2"))
		r.requeue()
		c.shards.DoneAt("a", r.at)

		require.Equal(t, ends, c.Queue().Len() == 1, "PutEndsBackoff is %v", ends)
		fake.Step(time.Second)
		_, value, err = c.Take(context.Background())
		require.NoError(t, err)
		require.Equal(t, "12", value)
		c.Done("a")
		require.Zero(t, c.Stats().Held)
	}
}

// A line keeps the order of its values, whichever segments are removed.
func TestLine(t *testing.T) {
	values := func(l *line[int]) (all []int) {
		var last *segment[int]
		for s := l.first; s != nil; s = s.next {
			all, last = append(all, s.value), s
		}
		require.Len(t, all, l.length())
		require.Same(t, last, l.last)
		return all
	}
	l := new(line[int])
	two := l.append(2, 1)
	three := l.append(3, 0)
	l.prepend(1, 0)
	require.Equal(t, []int{1, 2, 3}, values(l))
	require.Same(t, two, l.previous(three))
	require.Nil(t, l.previous(l.first))

	require.Same(t, l.first, l.mergeablePair())
	two.mergeFailed = true
	require.Same(t, two, l.mergeablePair(), "the first two are never merged")
	three.reserved = true
	require.Nil(t, l.mergeablePair())
	require.False(t, l.isMerging())
	three.merging = true
	require.True(t, l.isMerging())

	require.Same(t, three, l.unlinkNext(two))
	require.Equal(t, []int{1, 2}, values(l))
	three = l.append(3, 0)
	require.Equal(t, []int{1, 2, 3}, values(l))
	require.EqualValues(t, 1, l.remove(two))
	require.Equal(t, []int{1, 3}, values(l))
	require.Zero(t, l.inline, "it refers to no value that was removed")
	value, _ := l.removeFirst()
	require.Equal(t, 1, value)
	l.remove(three)
	require.Empty(t, values(l))
	require.Same(t, &l.inline, l.append(4, 1), "the first segment of an empty line")
}

// A stripe replaces the map of a burst.
func TestStripeShrinks(t *testing.T) {
	s := new(stripe[int, int])
	for key := range 800 {
		s.insertLocked(key)
	}
	require.EqualValues(t, 800, s.peak)
	for key := range 701 {
		s.removeLocked(key, s.lines[key])
	}
	require.Len(t, s.lines, 99)
	require.EqualValues(t, 99, s.peak)
	require.Zero(t, s.spares)
	require.NotNil(t, s.lines[799])
}

// A stripe fits into a cache line of 64 bytes.
// TestFlightsShrink checks that a burst of values in processing leaves no large
// map.
func TestFlightsShrink(t *testing.T) {
	c := MustNew(Options[int, int]{Merge: sum, Readable: true})
	const burst = 100_000
	for key := range burst {
		require.NoError(t, c.Put(key, 1))
	}
	taken := make([]Entry[int, int], burst)
	n, err := c.TakeBatch(context.Background(), taken)
	require.NoError(t, err)
	require.Equal(t, burst, n)
	peak := func() (sum int) {
		for i := range c.stripes.all {
			sum += int(c.stripes.all[i].flights.peak)
		}
		return sum
	}
	require.Equal(t, burst, peak())
	c.DoneBatch(taken[:burst/2])
	require.Equal(t, burst, peak())
	value, ok := c.Peek(taken[burst-1].Key)
	require.True(t, ok)
	require.Equal(t, 1, value)
	c.DoneBatch(taken[burst/2:])
	require.LessOrEqual(t, peak(), smallMap*len(c.stripes.all))
	for range c.Range() {
		t.Fatal("there are no values")
	}
}

func TestStripeSize(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(stripe[int, int]{}), uintptr(64))
}

// A stripe counts the lines that linger, whatever happens to their keys.
func TestLingeringIsCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		fake := clock.NewFake(time.Unix(0, 0))
		c := MustNew(Options[int, int]{
			Merge: sum, Linger: time.Second, LingerValues: 2 * random.IntN(3), PutEndsBackoff: random.IntN(2) == 0,
			Queue: shardq.Options[int]{Clock: fake},
		})
		lingered := false
		for range 200 {
			lingeringStep(t, c, fake, random)
			lingered = lingered || requireLingering(t, c) > 0
		}
		require.True(t, lingered)
		c.ShutDown()
		require.Zero(t, requireLingering(t, c))
	}
}

// requireLingering compares the counts with the lines, and returns the number.
func requireLingering(t *testing.T, c *Coalescer[int, int]) int {
	t.Helper()
	all := 0
	for i := range c.stripes.all {
		s, n := &c.stripes.all[i], 0
		for _, l := range s.lines {
			if l.key == lingering {
				n++
			}
		}
		require.EqualValues(t, n, s.lingering)
		all += n
	}
	stats := c.Stats()
	require.Equal(t, min(all, stats.Delayed), stats.Values.Lingering)
	return stats.Values.Lingering
}

// lingeringStep does something with a key.
func lingeringStep(t *testing.T, c *Coalescer[int, int], fake *clock.Fake, random *rand.Rand) {
	t.Helper()
	key := random.IntN(8)
	switch random.IntN(8) {
	case 0, 1:
		require.NoError(t, c.Put(key, 1))
	case 2:
		require.NoError(t, c.PutWith(key, 1, PutOptions{
			Delay: time.Duration(random.IntN(4)-1) * time.Second, Policy: shardq.DelayPolicy(random.IntN(4)),
		}))
	case 3:
		c.Cancel(key)
	case 4:
		fake.Step(time.Duration(random.IntN(1000)) * time.Millisecond)
	case 5, 6:
		if c.Queue().Len() == 0 {
			return
		}
		key, value, err := c.Take(context.Background())
		require.NoError(t, err)
		switch random.IntN(3) {
		case 0:
			require.NoError(t, c.PutBack(key, value))
		case 1:
			require.NoError(t, c.Retry(key, value))
		default:
			require.NoError(t, c.Put(key, 1))
			c.Done(key)
		}
	default:
		batch := make([]Entry[int, int], min(2, c.Queue().Len()))
		n, err := c.TakeBatch(context.Background(), batch)
		require.NoError(t, err)
		c.DoneBatch(batch[:n])
	}
}

// A Take that gets a key without a value ends its processing.
func TestKeyWithoutValueIsPassedOver(t *testing.T) {
	c := MustNew(Options[string, int]{Merge: sum, Queue: shardq.Options[string]{Shards: 1}})
	c.queue.Add("none")
	require.NoError(t, c.Put("a", 1))
	c.queue.Add("none, too")
	require.NoError(t, c.Put("b", 2))
	batch := make([]Entry[string, int], 4)
	n, err := c.TakeBatch(context.Background(), batch)
	require.NoError(t, err)
	require.ElementsMatch(t, []Entry[string, int]{{"a", 1}, {"b", 2}}, batch[:n])
	require.Equal(t, 2, c.Stats().Processing)
	c.DoneBatch(batch[:n])
	require.Zero(t, c.Stats().Held)
}

// A function that is inlined wherever it is called is not in the program.
func TestSmallFunctionsAreInlined(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	run := func(args ...string) string {
		out, err := exec.Command("go", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	run("build", "-o", program, "./testdata/inline")
	symbols := run("tool", "nm", program)
	has := func(function string) bool { return strings.Contains(symbols, "shardq/"+function+"\n") }
	require.True(t, has("shard.(*segment).remove"), "too large to be inlined")
	for _, small := range []string{
		"shard.(*segment).pack", "shard.(*index).segmentOf", "shard.(*Retries).Taken",
		"internal/chunked.CellsOf", "internal/itemlimit.(*Limiter).Notify",
	} {
		require.False(t, has(small), small)
	}
}
