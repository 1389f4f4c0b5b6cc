// Package attempts counts the attempts of workers by their results.
package attempts

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardq/shardq/stats"
)

// maxLanes limits the lanes of a Recorder.
const maxLanes = 64

// A Recorder counts attempts and their durations. It must be made by [New]. All
// methods are safe for concurrent use. It has a lane for each processor, with a
// lock that workers of other lanes do not take.
type Recorder struct {
	lanes  []atomic.Pointer[lane]
	groups groups
}

type lane struct {
	mu        sync.Mutex // a leaf
	durations [stats.Results]stats.Recorder
	_         [64]byte // the next lane's lock is in another cache line
}

// New returns a Recorder that has counted nothing.
func New() *Recorder {
	n := 1 << bits.Len(uint(min(runtime.GOMAXPROCS(0), maxLanes)-1))
	r := &Recorder{lanes: make([]atomic.Pointer[lane], n)}
	r.groups.init()
	return r
}

// Record counts an attempt. worker is the number of its worker.
func (r *Recorder) Record(worker int, result stats.Result, took time.Duration) {
	l := r.lane(uint(worker) & uint(len(r.lanes)-1))
	l.mu.Lock()
	l.durations[result].Record(0, uint64(max(took, 0)))
	l.mu.Unlock()
}

func (r *Recorder) lane(i uint) *lane {
	if l := r.lanes[i].Load(); l != nil {
		return l
	}
	r.lanes[i].CompareAndSwap(nil, &lane{})
	return r.lanes[i].Load()
}

// AddTo adds what was recorded to a. Each lane's part is of one moment.
func (r *Recorder) AddTo(a *stats.Attempts) {
	for i := range r.lanes {
		if l := r.lanes[i].Load(); l != nil {
			l.addTo(a)
		}
	}
}

func (l *lane) addTo(a *stats.Attempts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for result, h := range a.All() {
		if d := &l.durations[result]; !d.Empty() {
			d.AddTo(h)
		}
	}
}
