package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A value is what is to be written for one key: how many events it had, and when
// the first of them came, since the start of the run.
type value struct {
	count uint64
	first time.Duration
}

// merge returns the value of the events of both.
func (v value) merge(u value) value {
	return value{v.count + u.count, min(v.first, u.first)}
}

// pending holds the values that wait for a worker, one per key: events of a key
// that has one are merged into it. A value leaves with take, and its owner then
// either writes it and calls settle, or gives it back with restore.
//
// The queue never blocks, and need not: its items are keys that have a value
// here, so what waits is bounded by the number of distinct keys and not of
// events, however far the readers are ahead of the database. waitForRoom bounds
// the rest, for inputs whose keys never repeat.
//
// All methods are safe for concurrent use.
type pending struct {
	start  time.Time
	shards [pendingShards]pendingShard

	// outstanding is the number of values that are not settled, here or with
	// the workers, and one more until seal. It only reaches zero once.
	outstanding atomic.Int64
	sealed      atomic.Bool
	settled     chan struct{} // closed when outstanding reaches zero

	limit int64     // of outstanding
	room  sync.Cond // on a mutex of its own: outstanding fell below limit
}

// pendingShards is a power of two, and many more than there are cores, so that
// readers and workers seldom meet on one lock.
const pendingShards = 64

type pendingShard struct {
	mu     sync.Mutex
	values map[string]*pendingValue
	spare  []*pendingValue // taken ones, to use again
	_      [64]byte        // keeps neighbours' locks off one cache line
}

type pendingValue struct {
	key string // so that an event of a known key needs no string of its own
	value
}

func newPending(limit int, start time.Time) *pending {
	p := &pending{start: start, settled: make(chan struct{}), limit: int64(limit) + 1}
	p.room.L = &sync.Mutex{}
	for i := range p.shards {
		p.shards[i].values = map[string]*pendingValue{}
	}
	p.outstanding.Store(1)
	return p
}

// merge counts one event of key, whose hash is given, and returns the key as a
// string. It does not keep key. The caller must then add the key to the queue:
// only after the merge, so that whoever gets the key finds the event.
func (p *pending) merge(key []byte, hash uint64) string {
	shard := p.shard(hash)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if known := shard.values[string(key)]; known != nil { // does not allocate
		known.count++
		return known.key
	}
	name := string(key)
	shard.put(name, value{count: 1, first: time.Since(p.start)})
	p.outstanding.Add(1)
	return name
}

// take removes the value of key and returns it. It reports false if there is
// none, as when a delayed retry of the key comes after its value was already
// written together with newer events.
func (p *pending) take(key string) (value, bool) {
	shard := p.shard(hashKeyString(key))
	shard.mu.Lock()
	defer shard.mu.Unlock()
	known := shard.values[key]
	if known == nil {
		return value{}, false
	}
	delete(shard.values, key)
	taken := known.value
	*known = pendingValue{}
	shard.spare = append(shard.spare, known)
	return taken, true
}

// restore gives back a taken value, merged with what has come since. The caller
// must then add the key to the queue.
func (p *pending) restore(key string, taken value) {
	shard := p.shard(hashKeyString(key))
	shard.mu.Lock()
	known := shard.values[key]
	if known == nil {
		shard.put(key, taken)
	} else {
		known.value = known.merge(taken)
	}
	shard.mu.Unlock()
	if known != nil {
		p.settle(1) // two values became one
	}
}

// settle ends the care for n taken values: they are written or given up.
func (p *pending) settle(n int) {
	left := p.outstanding.Add(-int64(n))
	if left < p.limit && left+int64(n) >= p.limit {
		p.wakeReaders()
	}
	if left == 0 {
		close(p.settled)
	}
}

// seal says that no further event comes. From then on settled closes as soon as
// every value is settled.
func (p *pending) seal() {
	p.sealed.Store(true)
	p.settle(1)
}

// keys returns the number of keys whose events are not all settled.
func (p *pending) keys() int64 {
	keys := p.outstanding.Load()
	if !p.sealed.Load() {
		keys--
	}
	return max(0, keys) // the two are not read at one time
}

// waitForRoom blocks while the limit of outstanding values is reached, until ctx
// ends. Readers call it between pieces of input, so the limit can be exceeded by
// what is in one piece each.
func (p *pending) waitForRoom(ctx context.Context) {
	if p.outstanding.Load() < p.limit {
		return
	}
	defer context.AfterFunc(ctx, p.wakeReaders)()
	p.room.L.Lock()
	defer p.room.L.Unlock()
	for p.outstanding.Load() >= p.limit && ctx.Err() == nil {
		p.room.Wait()
	}
}

func (p *pending) wakeReaders() {
	p.room.L.Lock()
	defer p.room.L.Unlock()
	p.room.Broadcast()
}

func (p *pending) shard(hash uint64) *pendingShard {
	return &p.shards[hash%pendingShards]
}

func (s *pendingShard) put(key string, v value) {
	var slot *pendingValue
	if last := len(s.spare) - 1; last >= 0 {
		slot, s.spare = s.spare[last], s.spare[:last]
	} else {
		slot = new(pendingValue)
	}
	*slot = pendingValue{key, v}
	s.values[key] = slot
}
