package main

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

const collisionsText = `The keys are strings that all have one value under a hash without a seed: 64
bytes each for xxhash64, 160 for FNV-1a of 64 and of 32 bits. They are computed,
and then hashed to check that they collide. One goroutine adds them all, and
takes them all through Get and Done. Random keys of the same length do the same.
StableRouting routes by xxhash64, so with it all the keys of the first kind
share one shard. In *8 × 8*, eight producers and eight consumers cycle the keys.
The rows on others and on the heap are of the keys for xxhash64. client-go and
controller-runtime keep their keys in Go's maps, which have seeds as well.`

// family is a kind of keys that collide.
type family struct {
	name string
	keys func(n int) []string
	hash func(key string) uint64
}

var families = []family{
	{"xxhash64", xxhash64Keys, xxhash64},
	{"FNV-1a, 64 bits", fnv1a64.keys, fnv64},
	{"FNV-1a, 32 bits", fnv1a32.keys, fnv32},
}

func collisions(b *bench, t target) *figures {
	// 8 × 8 goroutines keep some hundred keys.
	n := max(b.count(1_000_000), 1<<13)
	f := newFigures(t)
	for _, family := range families {
		family.try(f, n)
	}
	routed(f, n)
	probed := fillAndDrain(t, longStrings(xxhash64Keys(n)))
	f.all = append(f.all, probed.all...)
	f.promises = append(f.promises, probed.promises...)
	return f
}

// try measures the keys of a family beside others.
func (family family) try(f *figures, n int) {
	name := family.name + ": "
	keys := family.keys(n)
	f.add(name+"keys of one hash", count, float64(family.alike(keys)))
	colliding, fullest := serial(f.target, setup{}, keys)
	random, _ := serial(f.target, setup{}, randomKeys(n, len(keys[0])))
	f.each(name+cycle+" of one of them", colliding, n)
	f.each(name+cycle+" of a random key", random, n)
	f.add(name+"the former ÷ the latter", ratio, float64(colliding)/float64(random))
	if f.target.shards > 1 {
		f.bounded("C18", name+"fullest shard ÷ mean", ratio, evenly(n, f.target.shards), fullest)
	}
}

// alike returns the number of keys that have the hash of the first.
func (family family) alike(keys []string) (n int) {
	hash := family.hash(keys[0])
	for _, key := range keys {
		if family.hash(key) == hash {
			n++
		}
	}
	return n
}

// serial passes the keys through a queue in one goroutine. It returns the time,
// and for shardq the number of keys in the fullest shard, divided by the mean.
func serial(t target, s setup, keys []string) (elapsed time.Duration, fullest float64) {
	q := newQueue[string](t, s)
	defer q.ShutDown()
	workload.Collect()
	start := time.Now()
	workload.AddAll(q, keys)
	elapsed = time.Since(start)
	if t.engine == ours {
		fullest = float64(fullestShard(q)) / float64(len(keys)) * float64(t.shards)
	}
	start = time.Now()
	for range keys {
		getAndDone(q)
	}
	return elapsed + time.Since(start), fullest
}

// evenly returns the bound for the fullest of some shards, divided by the mean,
// if the keys are spread at random: six standard deviations.
func evenly(keys, shards int) float64 {
	return 1 + 6*math.Sqrt(float64(shards)/float64(keys))
}

// routed measures the cost if all keys are in one shard.
func routed(f *figures, n int) {
	if f.target.engine == controllerRuntime {
		return // it would take very long
	}
	keys := xxhash64Keys(n)
	f.add("xxhash64: 8 × 8, each of them", duration, eightByEight(f.target, setup{}, keys))
	if f.target.engine == ours {
		routedStably(f, keys)
	}
}

func routedStably(f *figures, keys []string) {
	const name = "xxhash64, StableRouting: "
	stable := setup{stable: true}
	elapsed, fullest := serial(f.target, stable, keys)
	f.each(name+cycle+" of one of them", elapsed, len(keys))
	f.add(name+"8 × 8, each of them", duration, eightByEight(f.target, stable, keys))
	if f.target.shards > 1 {
		f.add(name+"fullest shard ÷ mean", ratio, fullest)
	}
}

func eightByEight(t target, s setup, keys []string) (nanoseconds float64) {
	load := workload.Load{
		Producers: 8, Consumers: 8,
		Warmup: len(keys) / 10, Items: len(keys), Limit: 10 * time.Second,
	}
	return workload.Closed(newQueue[string](t, s), keys, load).NanosecondsPerItem()
}

// randomKeys returns n different strings.
func randomKeys(n, length int) []string {
	random := rand.NewChaCha8([32]byte{1})
	keys := make([]string, n)
	key := make([]byte, length)
	for i := range keys {
		random.Read(key)
		keys[i] = string(key)
	}
	return keys
}
