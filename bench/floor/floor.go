// Package floor is a queue that takes the locks and accesses the cache lines
// that shardq does, and does nothing else: no states, no deduplication, no
// exclusion. The report compares with it.
package floor

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	tick    = time.Millisecond // the resolution of delays
	ticks   = 256              // that a shard keeps apart
	quantum = 8                // keys that a consumer takes from a shard
	rowBits = 16               // shards whose ready bits share a cache line
)

// A Queue is made by [New].
type Queue struct {
	seed    maphash.Seed
	shards  []shard
	ready   []row
	turn    row
	slots   uint64 // of a shard, less 1
	start   time.Time
	stopped atomic.Bool
	armed   atomic.Int64 // when timer is due, in nanoseconds after start

	mu      sync.Mutex // guards the fields below
	timer   *time.Timer
	expired int64 // the next tick that the timer handles
}

type row struct {
	atomic.Uint64
	_ [56]byte
}

type shard struct {
	mu          sync.Mutex
	number      int
	served      int
	ready       []string // a ring
	head, count int
	slots       []int64 // what a look-up and a deadline access, by hash
	delayed     *[ticks][]string
	_           [64]byte
}

// New returns a queue for about that many keys.
func New(shards, keys int) *Queue {
	perShard := 8
	for perShard < keys/shards*5/4 {
		perShard *= 2
	}
	q := &Queue{seed: maphash.MakeSeed(), shards: make([]shard, shards), slots: uint64(perShard - 1), start: time.Now()}
	q.ready = make([]row, (shards+rowBits-1)/rowBits)
	for i := range q.shards {
		q.shards[i].number, q.shards[i].slots = i, make([]int64, perShard)
	}
	q.armed.Store(1 << 62)
	return q
}

// lock locks the key's shard, and accesses its slot.
func (q *Queue) lock(key string, stamp int64) *shard {
	hash := maphash.String(q.seed, key)
	sh := &q.shards[hash>>32*uint64(len(q.shards))>>32]
	sh.mu.Lock()
	sh.slots[hash&q.slots] += stamp
	return sh
}

func (q *Queue) Add(key string) {
	sh := q.lock(key, 1)
	q.push(sh, key)
	sh.mu.Unlock()
}

// Done accesses the key's slot.
func (q *Queue) Done(key string) { q.lock(key, 1).mu.Unlock() }

// Get takes a key, and spins until there is one.
func (q *Queue) Get() (key string, shutdown bool) {
	for {
		if key, ok := q.take(int(q.turn.Load())); ok {
			return key, false
		}
		if q.stopped.Load() {
			return "", true
		}
		runtime.Gosched()
	}
}

func (q *Queue) take(start int) (key string, ok bool) {
	for i := range q.ready {
		row := (start/rowBits + i) % len(q.ready)
		for word := q.ready[row].Load(); word != 0; {
			bit := bits.TrailingZeros64(word) // the first at or after the turn, or else the first
			if later := word &^ (1<<(start%rowBits) - 1); later != 0 {
				bit = bits.TrailingZeros64(later)
			}
			word &^= 1 << bit
			if key, ok = q.pop(&q.shards[row*rowBits+bit]); ok {
				return key, true
			}
		}
	}
	return "", false
}

func (q *Queue) pop(sh *shard) (key string, ok bool) {
	if !sh.mu.TryLock() {
		return "", false
	}
	defer sh.mu.Unlock()
	if sh.count == 0 {
		return "", false
	}
	key = sh.ready[sh.head]
	sh.head = (sh.head + 1) & (len(sh.ready) - 1)
	if sh.count--; sh.count == 0 {
		q.ready[sh.number/rowBits].And(^uint64(1 << (sh.number % rowBits)))
	}
	if sh.served++; sh.served%quantum == 0 {
		q.turn.Store(uint64((sh.number + 1) % len(q.shards)))
	}
	return key, true
}

func (q *Queue) push(sh *shard, key string) {
	if sh.count == 0 {
		q.ready[sh.number/rowBits].Or(1 << (sh.number % rowBits))
	}
	if sh.count == len(sh.ready) {
		grown := make([]string, max(8, 2*len(sh.ready)))
		n := copy(grown, sh.ready[sh.head:])
		copy(grown[n:], sh.ready[:sh.head])
		sh.ready, sh.head = grown, 0
	}
	sh.ready[(sh.head+sh.count)&(len(sh.ready)-1)] = key
	sh.count++
}

func (q *Queue) Len() (n int) {
	for i := range q.shards {
		sh := &q.shards[i]
		sh.mu.Lock()
		n += sh.count
		sh.mu.Unlock()
	}
	return n
}

// ShutDown ends Gets that find nothing.
func (q *Queue) ShutDown() {
	q.stopped.Store(true)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}

// AddAfter reads the clock, accesses the key's slot, and sets the timer if it
// is due later than the delay ends. A delay of a quarter of a second or more
// never expires.
func (q *Queue) AddAfter(key string, delay time.Duration) {
	due := int64(time.Since(q.start) + delay)
	sh := q.lock(key, due)
	if delay < (ticks-2)*tick {
		if sh.delayed == nil {
			sh.delayed = new([ticks][]string)
		}
		at := (due/int64(tick) + 1) % ticks
		sh.delayed[at] = append(sh.delayed[at], key)
	}
	sh.mu.Unlock()
	if due < q.armed.Load() {
		q.arm(due)
	}
}

func (q *Queue) arm(due int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if due >= q.armed.Load() {
		return
	}
	q.armed.Store(due)
	delay := time.Duration(due) - time.Since(q.start)
	if q.timer == nil {
		q.timer = time.AfterFunc(delay, q.expire)
	} else {
		q.timer.Reset(delay)
	}
}

func (q *Queue) expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for now := int64(time.Since(q.start) / tick); q.expired <= now; q.expired++ {
		for i := range q.shards {
			q.expireIn(&q.shards[i], q.expired%ticks)
		}
	}
	if !q.stopped.Load() {
		q.armed.Store(q.expired * int64(tick))
		q.timer.Reset(tick)
	}
}

func (q *Queue) expireIn(sh *shard, at int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.delayed != nil {
		for _, key := range sh.delayed[at] {
			q.push(sh, key)
		}
		sh.delayed[at] = sh.delayed[at][:0]
	}
}
