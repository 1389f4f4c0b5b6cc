package suite

import (
	"testing"
	"time"

	"github.com/shardq/shardq/bench/workload"
)

// NamedTimers is a data structure of timers to measure.
type NamedTimers struct {
	Name string
	New  func() workload.Timers
}

// Timers measures data structures of timers without a lock, a clock or a queue:
// moving a timer, canceling and scheduling one, and the expiry of all.
func Timers(b *testing.B, structures []NamedTimers) {
	for _, n := range []int{1 << 10, 1 << 20} {
		deadlines := workload.TimerDeadlines(n, 1<<20)
		b.Run("timers="+Count(n), func(b *testing.B) {
			for _, s := range structures {
				b.Run("do=move/structure="+s.Name, func(b *testing.B) {
					onFiled(b, s, deadlines, workload.MoveTimers)
				})
				b.Run("do=cancel/structure="+s.Name, func(b *testing.B) {
					onFiled(b, s, deadlines, workload.CancelTimers)
				})
				b.Run("do=expire/structure="+s.Name, func(b *testing.B) { expire(b, s, n) })
			}
		})
	}
}

func onFiled(b *testing.B, s NamedTimers, deadlines []uint64, work func(workload.Timers, []uint64, int) time.Duration) {
	timers := s.New()
	workload.ScheduleAll(timers, deadlines)
	b.ReportAllocs()
	b.ResetTimer()
	work(timers, deadlines, b.N)
}

// expire schedules n timers and lets them expire, again and again, a hundred in
// each tick.
func expire(b *testing.B, s NamedTimers, n int) {
	within := max(uint64(n)/100, 1)
	deadlines := workload.TimerDeadlines(n, within)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		workload.ExpireTimers(s.New(), deadlines, within)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/timer")
}
