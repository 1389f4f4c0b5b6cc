package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

const megabyteText = `A thousand strings of 1 MiB, which differ only in their last eight bytes, are
added. Then copies of one that is ready are added ten thousand times. All of
these adds are deduplicated. Then all are taken. Meanwhile a prober adds short
keys. *Retained* is what the heap holds in the end beyond what it held before
there was a key. Copies are in memory of their own, so a check that two are
equal has to compare them. shardq hashes before it locks, and compares under the
lock of one shard.`

func megabyteKeys(b *bench, t target) *figures {
	tr := megabyteTrial{newTrial(t, timeSource{}, timeSource{}, longStrings(nil))}
	defer tr.idle.ShutDown()
	tr.items.keys = megabytes(b.count(1000))
	tr.probed("adding", map[string]probe[string]{add: probeAdd[string]}, func() {
		tr.addNew()
		tr.addAgain(b.count(10_000))
	})
	tr.drain()
	tr.highest(len(tr.items.keys) * megabyte)
	tr.accountFor()
	tr.items.keys, tr.taken = nil, nil
	tr.returned()
	return tr.figures
}

const megabyte = 1 << 20

func megabytes(n int) []string {
	same := strings.Repeat("k", megabyte-8)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s%08d", same, i)
	}
	return keys
}

// megabyteTrial adds methods to a trial of such keys.
type megabyteTrial struct{ *trial[string] }

func (tr megabyteTrial) addNew() {
	start := time.Now()
	workload.AddAll(tr.queue, tr.items.keys)
	tr.queue.Len() // makes controller-runtime's queue empty its buffer
	tr.each("Add of a new key", time.Since(start), len(tr.items.keys))
}

func (tr megabyteTrial) addAgain(times int) {
	copies := [...]string{strings.Clone(tr.items.keys[0]), strings.Clone(tr.items.keys[0])}
	start := time.Now()
	for i := range times {
		tr.queue.Add(copies[i%len(copies)])
	}
	tr.queue.Len()
	tr.each("Add of a key that is ready", time.Since(start), times)
}
