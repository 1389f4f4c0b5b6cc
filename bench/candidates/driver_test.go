package candidates

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardq/shardq/bench/engine"
	"github.com/shardq/shardq/bench/workload"
)

// A driver calls a function at the time for which it was last armed.
type driver interface {
	arm(in time.Duration)
	stop()
	// wakes returns how often the driver ran.
	wakes() int64
}

// callback is a timer whose function runs in a goroutine that the runtime makes
// for it. Package shard does this.
type callback struct {
	timer *time.Timer
	fire  func()
	ran   atomic.Int64
}

func newCallback(fire func()) driver { return &callback{fire: fire} }

func (d *callback) arm(in time.Duration) {
	if d.timer == nil {
		d.timer = time.AfterFunc(in, d.run)
		return
	}
	d.timer.Reset(in)
}

func (d *callback) run() {
	d.ran.Add(1)
	d.fire()
}

func (d *callback) stop()        { d.timer.Stop() }
func (d *callback) wakes() int64 { return d.ran.Load() }

// standing is a goroutine that sleeps on a timer, and is notified of an earlier
// deadline.
type standing struct {
	next     atomic.Int64 // nanoseconds from the arming
	notified chan struct{}
	ended    chan struct{}
	ran      atomic.Int64
}

func newStanding(fire func()) driver {
	d := &standing{notified: make(chan struct{}, 1), ended: make(chan struct{})}
	go d.run(fire)
	return d
}

func (d *standing) run(fire func()) {
	const unset = 1 << 62
	timer := time.NewTimer(unset)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			fire()
		case <-d.notified:
			timer.Reset(time.Duration(d.next.Load()))
		case <-d.ended:
			return
		}
		d.ran.Add(1)
	}
}

func (d *standing) arm(in time.Duration) {
	d.next.Store(int64(in))
	select {
	case d.notified <- struct{}{}:
	default: // it has not run since the last notification
	}
}

func (d *standing) stop()        { close(d.ended) }
func (d *standing) wakes() int64 { return d.ran.Load() }

// BenchmarkDriver compares a timer with a function with a goroutine with a
// timer: the memory of idle ones, the cost of a deadline that is earlier than
// those before, and the time from a deadline to the call.
func BenchmarkDriver(b *testing.B) {
	kinds := []struct {
		name string
		new  func(fire func()) driver
	}{{"callback", newCallback}, {"goroutine", newStanding}}
	for _, kind := range kinds {
		b.Run("do=hold/driver="+kind.name, func(b *testing.B) {
			hold(b, func() (stop func()) {
				d := kind.new(func() {})
				d.arm(time.Hour)
				return d.stop
			})
		})
	}
	for _, kind := range kinds {
		b.Run("do=rearm/driver="+kind.name, func(b *testing.B) { rearm(b, kind.new(func() {})) })
	}
	for _, kind := range kinds {
		b.Run("do=fire/driver="+kind.name, func(b *testing.B) {
			fired := make(chan struct{})
			fire(b, kind.new(func() { fired <- struct{}{} }), fired)
		})
	}
	for _, e := range []workload.Engine[string]{
		engine.Shardq[string](engine.DefaultShards()), engine.HeapQueue[string](),
	} {
		b.Run("do=hold-queue/queue="+e.Name, func(b *testing.B) {
			hold(b, func() (stop func()) {
				q := e.New().(workload.DelayingQueue[string])
				q.AddAfter("item", time.Hour)
				return q.ShutDown
			})
		})
	}
}

// hold reports the heap and the stacks that ten thousand of something take.
func hold(b *testing.B, make func() (stop func())) {
	const n = 10_000
	for range b.N {
		stops := [n]func(){}
		before := inUse()
		goroutines := runtime.NumGoroutine()
		for i := range stops {
			stops[i] = make()
		}
		time.Sleep(10 * time.Millisecond) // let them block
		b.ReportMetric(float64(inUse()-before)/n, "B/each")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines/each")
		for _, stop := range stops {
			stop()
		}
	}
	b.ReportMetric(0, "ns/op") // means nothing here, and hides it
}

func inUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}

func rearm(b *testing.B, d driver) {
	defer d.stop()
	d.arm(time.Hour)
	b.ResetTimer()
	for i := range b.N {
		d.arm(time.Hour - time.Duration(i))
	}
	b.ReportMetric(float64(d.wakes())/float64(b.N), "wakes/op")
}

func fire(b *testing.B, d driver, fired <-chan struct{}) {
	for range b.N {
		d.arm(0)
		<-fired
	}
	b.ReportMetric(float64(d.wakes())/float64(b.N), "wakes/op")
	d.stop()
}
