package harness

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// Checks of section I on a new queue, before other actors use it.

// control checks the operations that are in the round's mix.
func (o opening) control() {
	for _, check := range []struct {
		needs Ingredient
		check func()
	}{
		{Batches, o.batches}, {Loops, o.loops}, {Cancels, o.withdrawals}, {Policies, o.policies},
		{Capacity, o.capacity}, {Claims, o.claims}, {Ages, o.ages},
	} {
		if o.has(check.needs) && !o.violated.stopped.Load() {
			check.check()
		}
	}
}

// stand compares the counts with the expected values, by a clause.
func (o opening) stand(clause, after string, ready, delayed, processing int) {
	if s, _ := o.queue.stats(); s.Ready != ready || s.Delayed != delayed || s.Processing != processing {
		o.violated.report(clause, -1, "after %s, %d items must be ready, %d delayed, and %d in processing, but Stats is %+v",
			after, ready, delayed, processing, s)
	}
}

// batches checks that a batch has the effect of single calls, and that GetBatch
// does not wait for more items than there are.
func (o opening) batches() {
	n := 2 + o.roll(200)
	keys := make([]int, n, n+1)
	for i := range keys {
		keys[i] = o.first + i
	}
	o.asked.immediate += uint64(n) + 1
	o.queue.addBatch(append(keys, o.first))
	o.stand("C37", "an AddBatch", n, 0, 0)
	ctx, cancel := context.WithTimeout(o.context, grace)
	defer cancel()
	var got []int
	for room := 1; len(got) < n && !o.violated.stopped.Load(); room *= 2 {
		into := make([]int, room)
		m, err := o.queue.getBatch(ctx, into)
		if want := min(room, n-len(got)); err != nil || m != want {
			o.violated.report("C37", -1, "GetBatch with room for %d, with %d items ready, returned %d and the error %v", room, n-len(got), m, err)
			return
		}
		got = append(got, into[:m]...)
	}
	o.gets += uint64(n)
	o.stand("C37", "a GetBatch", 0, 0, n)
	if o.plan.Shards == 1 && !slices.Equal(got, keys) {
		o.violated.report("C37", -1, "after AddBatch of %v in one shard, GetBatch returned %v", keys, got)
	}
	o.dones += uint64(n)
	o.queue.doneBatch(got)
	o.stand("C37", "a DoneBatch", 0, 0, 0)
}

// loops checks that a turn of a loop ends with a Done, however it ends.
func (o opening) loops() {
	for name, leave := range map[string]func(){
		"continue": func() {}, "break": func() {}, "a panic": func() { panic(workerPanics) }, "runtime.Goexit": runtime.Goexit,
	} {
		o.add(opAdd, o.first, 0)
		o.add(opAdd, o.first+1, 0)
		o.loopOnce(name == "continue", leave)
		left := 1
		if name == "continue" {
			left = 0
		}
		o.stand("C36", "a loop whose turn ends with "+name, left, 0, 0)
		for range left {
			o.end(o.take())
		}
	}
}

// loopOnce ranges over two items, or one.
func (o opening) loopOnce(both bool, leave func()) {
	ctx, cancel := context.WithTimeout(o.context, grace)
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { onPurpose(recover()) }()
		turns := 0
		for range o.queue.items(ctx) {
			turns++
			o.gets++
			o.dones++
			o.stand("C36", "the beginning of a loop's turn", 2-turns, 0, 1)
			if leave(); !both || turns == 2 {
				break
			}
		}
	}()
	<-over
}

// withdrawals checks that a Cancel removes what there is, reports it, and does
// not affect processing.
func (o opening) withdrawals() {
	cancel := func(state string, want shardq.Canceled, ready, delayed, processing int) {
		was := o.queue.cancel(o.first)
		o.asked.canceled(was)
		if was != want {
			o.violated.report("C39", -1, "Cancel of an item that is %s returned %+v", state, was)
		}
		o.stand("C39", "a Cancel of an item that is "+state, ready, delayed, processing)
	}
	cancel("unknown", shardq.Canceled{}, 0, 0, 0)
	o.add(opAdd, o.first, 0)
	cancel("ready", shardq.Canceled{Ready: true}, 0, 0, 0)
	o.add(opAddAfter, o.first, time.Hour) // long enough not to expire
	o.expect(0, 1, 0)
	cancel("delayed", shardq.Canceled{Delayed: true}, 0, 0, 0)
	o.add(opAdd, o.first, 0)
	key := o.take()
	cancel("processing", shardq.Canceled{}, 0, 0, 1)
	o.add(opAdd, key, 0)
	cancel("dirty", shardq.Canceled{Dirty: true}, 0, 0, 1)
	o.end(key)
	o.expect(0, 0, 0)
}

// policies checks that MaxWait limits postponed items, and that each policy
// keeps the right deadline.
func (o opening) policies() {
	const short, long = longestDelay / 5, longestDelay
	for _, test := range []struct {
		policy      shardq.DelayPolicy
		first, then time.Duration
		bound, want time.Duration
	}{
		{shardq.KeepEarliest, long, short, 0, short},
		{shardq.KeepLatest, short, long, 0, long},
		{shardq.KeepLatest, short, time.Hour, long / 2, long / 2},
		{shardq.KeepNew, long, short, 0, short},
		{shardq.KeepNew, short, long, 0, long},
		{shardq.KeepOld, long / 2, short, 0, long / 2},
	} {
		o.policy(test.policy, test.first, test.then, test.bound, test.want)
	}
}

func (o opening) policy(p shardq.DelayPolicy, first, then, bound, want time.Duration) {
	if o.violated.stopped.Load() {
		return
	}
	began := time.Now()
	o.add(opAddAfter, o.first, first)
	filed := time.Since(began)
	o.asked.deferred++
	o.queue.addWith(o.first, shardq.AddOptions{After: then, Policy: p, MaxWait: bound})
	if o.fake == nil && time.Since(began) >= first {
		want = 0 // the delay expired before it was postponed
	}
	if o.fake != nil {
		o.fake.Step(want - 1)
		o.stand("C38", "a delay under a policy, but for its last nanosecond", 0, 1, 0)
		o.fake.Step(1 + tick)
		o.stand("C38", "a delay under a policy", 1, 0, 0)
	}
	key, ok := o.takeSoon("C38")
	if !ok {
		return
	}
	if early := want - time.Since(began); o.fake == nil && early > 0 {
		o.violated.report("C38", -1, "an item was handed out at least %v too early, with a delay of %v, and %v later %v by policy %d", early, first, filed, then, p)
	}
	o.end(key)
	if o.queue.Len() > 0 {
		o.end(o.take())
	}
	o.asked.canceled(o.queue.cancel(o.first)) // if it ran early, and is delayed again
}

// takeSoon is take with a time limit.
func (o opening) takeSoon(clause string) (key int, ok bool) {
	ctx, cancel := context.WithTimeout(o.context, grace)
	defer cancel()
	key, ok, err := o.queue.getContext(ctx)
	if !ok || err != nil {
		o.violated.report(clause, -1, "an item was not ready after %v", grace)
		return 0, false
	}
	o.gets++
	return key, true
}

// capacity checks that adds that honor the capacity do not exceed it, and that
// a Done makes room.
func (o opening) capacity() {
	n := o.plan.Capacity
	before, _ := o.queue.stats()
	full := func(want error, key int) {
		err := o.queue.tryAdd(key)
		if err == nil {
			o.asked.immediate++
		}
		if err != want {
			o.violated.report("C40", -1, "TryAdd with a full queue of %d returned %v, want %v", n, err, want)
		}
	}
	for i := range n {
		full(nil, o.first+i)
	}
	full(shardq.ErrFull, o.first+n)
	full(nil, o.first)
	if !o.levels.high.Load() {
		o.violated.report("C41", -1, "OnWatermark was not called for a full queue")
	}
	o.waitForCapacity(n)
	o.add(opAdd, o.first+n+1, 0)
	if s, _ := o.queue.stats(); s.OverCapacity != before.OverCapacity+1 || s.Held != n+1 {
		o.violated.report("C40", -1, "with %d items, one of them beyond the capacity, Stats is %+v", n+1, s)
	}
	for range n + 1 {
		if key, ok := o.takeSoon("C40"); ok {
			o.end(key)
		}
	}
	o.stand("C40", "all Dones", 0, 0, 0)
	if o.levels.high.Load() {
		o.violated.report("C41", -1, "OnWatermark was not called for an empty queue")
	}
}

// waitForCapacity checks that AddContext returns when its context ends, and
// succeeds when there is room.
func (o opening) waitForCapacity(n int) {
	short, cancel := context.WithTimeout(o.context, 100*time.Microsecond)
	defer cancel()
	if err := o.queue.addContext(short, o.first+n); err != context.DeadlineExceeded {
		o.violated.report("C40", -1, "AddContext of a full queue returned %v, want the error of its context", err)
		return
	}
	long, cancel := context.WithTimeout(o.context, grace)
	defer cancel()
	added := make(chan error)
	go func() { added <- o.queue.addContext(long, o.first+n) }()
	o.end(o.take())
	if err := <-added; err != nil {
		o.violated.report("C40", -1, "AddContext returned %v, and there is room", err)
		return
	}
	o.asked.immediate++
}

// aged is the offset of the keys that only ages uses. The queue may have called
// OnStuck for the others.
const aged = 1 << 20

// ages checks Snapshot and All, and that the queue calls OnStuck once.
func (o opening) ages() {
	o.first += aged
	o.add(opAdd, o.first, 0)
	o.add(opAdd, o.first+1, 0)
	o.shows(stats.Ready, 2)
	key := o.take()
	o.add(opAddAfter, o.first+2, time.Hour)
	o.shows(stats.Ready, 1)
	o.shows(stats.Processing, 1)
	o.shows(stats.Delayed, 1)
	o.stuck(key)
	o.end(key)
	o.end(o.take())
	o.asked.canceled(o.queue.cancel(o.first + 2))
	if o.queue.Len() > 0 {
		o.end(o.take())
	}
	o.shows(stats.Processing, 0)
}

// stuck waits until the queue has called OnStuck for a key.
func (o opening) stuck(key int) {
	if o.fake != nil {
		o.fake.Step(stuckAfter - 2*tick)
		if o.stuckCalls.count(key) > 0 {
			o.violated.report("C44", -1, "OnStuck was called for key %d %v too early", key, 2*tick)
		}
		o.fake.Step(4 * tick)
	}
	for deadline := time.Now().Add(stuckAfter + grace); o.stuckCalls.count(key) == 0 && time.Now().Before(deadline); {
		pause()
	}
	if o.fake != nil {
		o.fake.Step(2 * stuckAfter)
	}
	if n := o.stuckCalls.count(key); n != 1 {
		o.violated.report("C44", -1, "OnStuck was called %d times for key %d, which stays in processing", n, key)
	}
}

// shows checks that Snapshot and All show n items in a state.
func (o opening) shows(state stats.State, n int) {
	var all []stats.Item[int]
	for row := range o.queue.all(state) {
		all = append(all, row)
	}
	s := o.queue.snapshot(100)
	some := map[stats.State][]stats.Item[int]{
		stats.Ready: s.Ready, stats.Processing: s.Processing, stats.Delayed: s.Delayed,
	}[state]
	wrong := func(row stats.Item[int]) bool { return row.State != state || row.Item < o.first }
	if len(all) != n && !(o.fake == nil && state != stats.Processing) || slices.ContainsFunc(append(some, all...), wrong) ||
		o.fake != nil && len(some) != n {
		o.violated.report("C43", -1, "with %d items that are %v, All shows %+v, and Snapshot %+v", n, state, all, some)
	}
}
