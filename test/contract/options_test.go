package contract

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

func TestZeroOptionsAreACompleteQueue(t *testing.T) {
	q, err := shardq.New(shardq.Options[string]{})
	require.NoError(t, err)
	require.Empty(t, q.Name())
	require.Equal(t, shardq.Stats{Shards: q.Stats().Shards}, counts(q.Stats()))
	require.Positive(t, q.Stats().Shards)
	requireCycle(t, q, "a")
	q.AddAfter("b", time.Nanosecond)
	item, shutdown := q.Get() // becomes ready on the real clock
	require.Equal(t, "b", item)
	require.False(t, shutdown)
	q.Done("b")
	q.AddRateLimited("c")
	require.Equal(t, 1, q.NumRequeues("c"))
	item, _ = q.Get()
	require.Equal(t, "c", item)
	q.Done("c")
	requireShutsDown(t, q)
}

func TestOptionsEveryFaultIsListed(t *testing.T) {
	q, err := shardq.New(shardq.Options[*int]{
		Shards: -1, Tick: -time.Second, StableRouting: true,
		Hash: func(*int) uint64 { return 0 },
	})
	require.Nil(t, q)
	require.Error(t, err)
	for _, fault := range []string{"Options.Shards is -1", "Options.Tick is -1s", "Options.Hash", "Options.StableRouting: *int"} {
		require.ErrorContains(t, err, fault)
	}
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 4)
	for _, line := range lines {
		require.True(t, strings.HasPrefix(line, "shardq: "), line)
	}
}

func TestOptionsEachFaultAlone(t *testing.T) {
	hash := func(string) uint64 { return 0 }
	onWatermark, onStuck := func(shardq.Watermark) {}, func(stats.Item[string]) {}
	for fault, options := range map[string]shardq.Options[string]{
		"Options.Shards is -1":                                {Shards: -1},
		"Options.Shards is 4097":                              {Shards: shardq.MaxShards + 1},
		"Options.Tick is -1ns":                                {Tick: -1},
		"Options.Hash and Options.StableRouting are both set": {Hash: hash, StableRouting: true},
		"Options.Capacity is -1":                              {Capacity: -1},
		"Options.Watermarks has Low 3 and High 3":             {Watermarks: shardq.Watermarks{High: 3, Low: 3, On: onWatermark}},
		"Options.Watermarks has Low -1 and High 3":            {Watermarks: shardq.Watermarks{High: 3, Low: -1, On: onWatermark}},
		"Options.Watermarks has Low 0 and High 0":             {Watermarks: shardq.Watermarks{On: onWatermark}},
		"Options.StuckAfter is 0s":                            {OnStuck: onStuck},
		"Options.StuckAfter is -1s":                           {OnStuck: onStuck, StuckAfter: -time.Second},
		"Options.Watermarks has Low 3 and High 2":             {Watermarks: shardq.Watermarks{High: 2, Low: 3}},
		"Options.Watermarks has Low 0 and High -1":            {Watermarks: shardq.Watermarks{High: -1}, Logger: slog.Default()},
		"Options.Watermarks has Low 7 and High 0":             {Watermarks: shardq.Watermarks{Low: 7}, Logger: slog.Default()},
		"Options.StuckAfter is -2s: want 0 (never) or more":   {StuckAfter: -2 * time.Second},
		"Options.StuckAfter is -3s: want 0 (never) or more":   {StuckAfter: -3 * time.Second, Logger: slog.Default()},
		"Options.GroupPolicy is set: want it with Group":      {GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{} }},
	} {
		_, err := shardq.New(options)
		require.ErrorContains(t, err, fault)
		require.NotContains(t, err.Error(), "\n", "one fault, one line")
	}
}

// The options of a hook are valid without the hook, and have no effect.
func TestOptionsOfHooksThatAreNotSet(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Watermarks: shardq.Watermarks{High: 7, Low: 1}, StuckAfter: time.Second})
	requireCycle(t, q, "a")
	require.False(t, q.Inspect().Configuration().Ages)
}

func TestStableRoutingNamesTheTypesItCannotRoute(t *testing.T) {
	_, err := shardq.New(shardq.Options[notEqualToItself]{StableRouting: true})
	require.ErrorContains(t, err, ".value is of type float64")
	require.NotContains(t, err.Error(), ".name")
}

func TestMustNewPanicsWithTheFaults(t *testing.T) {
	require.PanicsWithValue(t, "shardq: Options.Shards is -5: want 0 (the default) to 4096", func() {
		shardq.MustNew(shardq.Options[string]{Shards: -5})
	})
	require.NotPanics(t, func() { shardq.MustNew(shardq.Options[string]{}) })
}

func TestOptionsShards(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 7, 16, 64, 65, 100, shardq.MaxShards} {
		q := newQueue[int](shards)
		require.Equal(t, shards, q.Stats().Shards)
		addAll(q, numbers(1000))
		require.Equal(t, 1000, q.Len())
		requireExactly(t, numbers(1000), finishAll(t, q))
		requireShutsDown(t, q)
	}
}

func TestOptionsName(t *testing.T) {
	require.Equal(t, "orders", shardq.MustNew(shardq.Options[int]{Name: "orders"}).Name())
	a := shardq.MustNew(shardq.Options[int]{Name: "orders"}) // need not be unique
	requireCycle(t, a, 1)
}

// Delays expire on ticks, counted from when the queue was made. A deadline
// between two ticks waits for the second.
func TestOptionsTick(t *testing.T) {
	forEachShardCount(t, func(t *testing.T, shards int) {
		fake := newFake()
		q := shardq.MustNew(shardq.Options[string]{Shards: shards, Clock: fake, Tick: time.Second})
		q.AddAfter("a", time.Millisecond)
		q.AddAfter("b", 999*time.Millisecond)
		wait, ok := fake.Next()
		require.True(t, ok)
		require.Greater(t, wait, 999*time.Millisecond-1)
		require.LessOrEqual(t, wait, time.Second)
		fake.Step(wait)
		requireCounts(t, q, 2, 0, 0)
	})
}

// The options are read once, and not modified: one value serves many queues.
func TestOptionsAreReadOnce(t *testing.T) {
	options := shardq.Options[string]{Name: "first"}
	q := shardq.MustNew(options)
	require.Zero(t, options.Shards)
	require.Nil(t, options.Clock)
	require.Nil(t, options.RateLimiter)
	options.Name = "second"
	require.Equal(t, "first", q.Name())
	require.Equal(t, "second", shardq.MustNew(options).Name())
}

// Items of one Hash share a shard: they are handed out in the order of their
// adds.
func TestOptionsHashRoutes(t *testing.T) {
	for _, value := range []uint64{0, 1, 77, math.MaxUint64} {
		q := shardq.MustNew(shardq.Options[int]{Shards: 16, Hash: func(int) uint64 { return value }})
		addAll(q, numbers(200))
		require.Equal(t, numbers(200), takeAll(t, q))
	}
}

// A Hash of small numbers in a row uses many shards.
func TestOptionsHashIsSpread(t *testing.T) {
	q := shardq.MustNew(shardq.Options[int]{Shards: 16, Hash: func(item int) uint64 { return uint64(item) }})
	addAll(q, numbers(16_000))
	requireSpread(t, 16, numbers(16_000), takeAll(t, q))
}

// neighbours returns which of a hundred keys share a shard, of 16, with
// thousands of others that have one xxhash. They are handed out last, after all
// others of that shard. The rest are at the heads of their shards.
func neighbours(t *testing.T) string {
	const largeUniverse = 20_000
	q := shardq.MustNew(shardq.Options[string]{Shards: 16, StableRouting: true})
	for n := range largeUniverse {
		q.Add(collidingKey(uint64(n)))
	}
	for n := range 100 {
		q.Add(fmt.Sprint("key-", n))
	}
	require.Greater(t, largeUniverse, servedWithin(100, 16), "too few to tell")
	var last []string
	seen := 0
	for q.Len() > 0 {
		switch item := take(t, q); {
		case strings.HasPrefix(item, "key-") && seen == largeUniverse:
			last = append(last, item)
		case !strings.HasPrefix(item, "key-"):
			seen++
		}
	}
	return fmt.Sprint(last)
}

func TestStableRoutingIsTheSameInTwoQueues(t *testing.T) {
	first := neighbours(t)
	require.Equal(t, first, neighbours(t))
	require.NotEqual(t, "[]", first, "no key shares a shard with another")
}

const printNeighbours = "SHARDQ_TEST_PRINT_NEIGHBOURS"

// The test runs its own binary once more, as another process.
func TestStableRoutingIsTheSameInTwoProcesses(t *testing.T) {
	ours := neighbours(t)
	if os.Getenv(printNeighbours) != "" {
		fmt.Println(ours)
		return
	}
	other := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), printNeighbours+"=1")
	output, err := other.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Contains(t, string(output), ours)
}
