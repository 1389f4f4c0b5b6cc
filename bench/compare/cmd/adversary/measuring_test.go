package main

import (
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq/bench/workload"
)

func TestLatenciesAreKnownToASixteenth(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Min(0), 1, 200).Draw(r, "durations")
		var first, second latencies
		for i, d := range all {
			[]*latencies{&first, &second}[i%2].add(time.Duration(d))
		}
		first.merge(&second)
		slices.Sort(all)
		assert.Equal(r, time.Duration(all[len(all)-1]), first.longest)
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			exact := time.Duration(workload.Quantile(all, q))
			got := first.within(q)
			assert.GreaterOrEqual(r, got, exact)
			assert.LessOrEqual(r, got-exact, exact/16)
		}
	})
}

func TestLatenciesOfNothing(t *testing.T) {
	assert.Zero(t, new(latencies).within(0.5))
	assert.Equal(t, "–", (&cell{unit: calls, calls: new(latencies)}).String())
}

func TestCells(t *testing.T) {
	assert.Equal(t, "–", (*cell)(nil).String())
	assert.Equal(t, "1.50 µs (1 µs–2 µs)", (&cell{unit: duration, values: []float64{2000, 1000}}).String())
	assert.Equal(t, "12.3 MiB", (&cell{unit: bytes, values: []float64{12.3 * (1 << 20)}}).String())
	assert.Equal(t, "1000000", (&cell{unit: count, values: []float64{1e6}}).String())
	assert.Equal(t, "0.97 (0.95–1.02)", (&cell{unit: ratio, values: []float64{0.97, 1.02, 0.95}}).String())
	assert.Equal(t, "> 180 s", (&cell{unit: duration, values: []float64{180e9}, over: true}).String())
	var inEach cell
	for _, each := range [][]time.Duration{{10, 900, 30}, {800, 20, 30}} { // disturbed in other places
		inEach.unit = steps
		inEach.add(figure{unit: steps, steps: each})
	}
	assert.Equal(t, "30 ns", inEach.String())
	var three latencies
	for _, d := range []time.Duration{3, 4, 5} {
		three.add(d)
	}
	assert.Equal(t, "4 ns, 5 ns, 5 ns", (&cell{unit: calls, calls: &three}).String())
}

func TestStraysAreFound(t *testing.T) {
	it := numbers(5)
	assert.Zero(t, it.strays([]uint64{4, 2, 0, 1, 3}))
	assert.Equal(t, 1, it.strays([]uint64{4, 2, 0, 1}), "lost")
	assert.Equal(t, 1, it.strays([]uint64{4, 2, 0, 1, 3, 3}), "twice")
	assert.Equal(t, 2, it.strays([]uint64{4, 2, 0, 0, 3}), "one for another")
	assert.Equal(t, 5, it.strays(nil))
}

func TestProbesAreNoneOfTheItems(t *testing.T) {
	it := numbers(5)
	for _, key := range it.keys {
		assert.False(t, it.isProbe(key))
	}
	for _, key := range slices.Concat(it.probes, it.delayed, []uint64{it.last}) {
		assert.True(t, it.isProbe(key))
	}
	texts := longStrings(randomKeys(5, 64))
	for _, key := range texts.keys {
		assert.False(t, texts.isProbe(key))
	}
	for _, key := range slices.Concat(texts.probes, texts.delayed, []string{texts.last}) {
		assert.True(t, texts.isProbe(key))
	}
}

// slowQueue is a queue whose Add takes a while.
type slowQueue struct {
	queue[uint64]
	wait time.Duration
}

func (q slowQueue) Add(key uint64) {
	time.Sleep(q.wait)
	q.queue.Add(key)
}

func TestAProberSeesWhatTakesLong(t *testing.T) {
	const wait = 5 * time.Millisecond
	ready := newQueue[uint64](targets()[0], setup{})
	idle := newQueue[uint64](targets()[0], setup{})
	var seen []uint64
	p := startProber(queue[uint64](slowQueue{ready, wait}), idle, []uint64{7}, probeCycle(func(item uint64) {
		seen = append(seen, item)
	}))
	p.stop()
	assert.GreaterOrEqual(t, p.others.longest, wait)
	assert.Equal(t, p.others.n, p.floor.n)
	assert.GreaterOrEqual(t, p.others.n, uint64(3), "Add, Get and Done at least once")
	assert.Equal(t, slices.Repeat([]uint64{7}, len(seen)), seen)
	assert.Zero(t, ready.Len()+idle.Len())
}

func TestThePeakIsSeen(t *testing.T) {
	const size = 64 << 20
	before := liveHeap()
	p := watchPeak()
	grown := make([]byte, size)
	highest := p.stop()
	assert.GreaterOrEqual(t, highest, before+size)
	runtime.KeepAlive(grown)
	assert.Less(t, liveHeap(), before+size/2)
	assert.Equal(t, highest, p.stop())
}

// TestTurnsAreThoseOfTheSteppingThread checks that other readings of the clock
// are not taken for those of the driver.
func TestTurnsAreThoseOfTheSteppingThread(t *testing.T) {
	if thread() == 0 {
		t.Skip("threads cannot be told apart here")
	}
	clock := newStanding()
	turns := clock.ours.note(func() {
		clock.ours.Now()
		var other sync.WaitGroup
		other.Go(func() { clock.ours.Now() })
		other.Wait()
		clock.ours.Now()
	})
	clock.ours.Now()
	require.EqualValues(t, 2, turns.n)
}
