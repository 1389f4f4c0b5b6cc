package main

import (
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/sharedwrites"
)

var flat = machine{group: 128, socket: 128, cores: 128, near: 50}

func TestThePriceIsTheMeanOfAllPairs(t *testing.T) {
	m := machine{group: 2, socket: 4, cores: 8, near: 10, within: 20, across: 30}
	assert.Zero(t, m.price(1))
	assert.InDelta(t, 10, m.price(2), 1e-9)
	assert.InDelta(t, (10+20)/2.0, m.price(3), 1e-9)
	assert.InDelta(t, (10+2*20+4*30)/7.0, m.price(8), 1e-9)
}

func TestOneCorePaysItsOwnWorkAlone(t *testing.T) {
	for _, d := range designsFor(measured{100, 120, 60, 200, 150}, 1) {
		assert.Zero(t, d.transfers(1), d.name)
		assert.InDelta(t, 1000/d.own, d.throughput(flat, 1), 1e-9, d.name)
		assert.Equal(t, "cores", d.limit(flat, 1), d.name)
	}
}

func TestAMutexBoundsHoweverManyCores(t *testing.T) {
	theirs := designsFor(measured{100, 120, 60, 200, 150}, 2)[peer]
	assert.Equal(t, "locks", theirs.limit(flat, 2))
	assert.Less(t, theirs.throughput(flat, 128), theirs.throughput(flat, 2))
}

// TestAWordBounds checks that cores wait for a word if they only write to it.
func TestAWordBounds(t *testing.T) {
	d := design{own: 1, writes: 2, hottest: 2, servers: 1024, lanes: 4}
	const c = 128
	assert.Equal(t, "a word", d.limit(flat, c))
	assert.InDelta(t, 1000/(2*50*(1-1.0/c)), d.throughput(flat, c), 1e-9)
}

// TestTheDefaultsAreThoseOfTheQueue checks that the model has as many shards as
// a queue here.
func TestTheDefaultsAreThoseOfTheQueue(t *testing.T) {
	assert.Equal(t, engine.DefaultShards(), shards(runtime.GOMAXPROCS(0)))
	assert.Equal(t, 256, shards(128))
	assert.Equal(t, 16, lanes(128))
	assert.Equal(t, 4, lanes(1))
}

func TestCountsAreOfTheNearestNumberOfShards(t *testing.T) {
	assert.Equal(t, 32, count(sharedwrites.Full, sharedwrites.GetDone, 64).Shards)
	assert.Equal(t, 128, count(sharedwrites.Full, sharedwrites.GetDone, 256).Shards)
	assert.Panics(t, func() { count("none", sharedwrites.GetDone, 32) })
}

func TestOwnWorkCanBeGiven(t *testing.T) {
	own, err := parseOwn("1, 2.5,3,4,5")
	require.NoError(t, err)
	assert.Equal(t, &measured{1, 2.5, 3, 4, 5}, own)
	for _, list := range []string{"1,2,3", "1,2,3,4,0", "1,2,3,4,x", "1,2,3,4,-4"} {
		_, err := parseOwn(list)
		assert.ErrorContains(t, err, "-own", list)
	}
}

func TestTheDocumentIsWritten(t *testing.T) {
	directory := t.TempDir()
	r := &report{own: measured{100, 120, 60, 200, 150}, Transfer: 50, onTwo: &measured{90, 100, 50, 210, 160}}
	require.NoError(t, r.drawPlots(directory))
	file := filepath.Join(directory, "cores.md")
	require.NoError(t, r.write(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), "| near-empty, Get and Done | 32 |")
	assert.Contains(t, string(text), "| shardq, full | 100 |")
	for i, m := range machines {
		assert.Contains(t, string(text), "### "+m.name)
		picture, err := os.ReadFile(filepath.Join(directory, plotName(i)))
		require.NoError(t, err)
		assert.NoError(t, xml.Unmarshal(picture, new(struct{})))
	}
}

func TestEverythingIsMeasured(t *testing.T) {
	for d, nanoseconds := range measure(2, 1, time.Millisecond) {
		assert.Positive(t, nanoseconds, names[d])
		assert.Less(t, nanoseconds, math.MaxFloat64, names[d])
	}
	assert.Positive(t, measureTransfer(1, 100))
}
