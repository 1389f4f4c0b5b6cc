package main

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/shardq/shardq/bench/suite"
	"github.com/shardq/shardq/bench/workload"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/timerwheel"
)

func bareTimers(r *report) {
	r.section("Timers as bare data structures", timersText)
	var outcomes []outcome
	for _, n := range r.scale.timers {
		far := workload.TimerDeadlines(n, 1<<20)
		outcomes = append(outcomes,
			r.compare(timers("move", n, onFiled(r, far, workload.MoveTimers))),
			r.compare(timers("cancel and file", n, onFiled(r, far, workload.CancelTimers))),
			r.compare(timers("file and expire", n, expire(n))))
	}
	r.tableOfRatios("ns for each timer", "heap", []string{"wheel"}, outcomes...)
}

const timersText = `shardq's hierarchical wheel beside a binary heap of ` + "`container/heap`" + ` that knows
each timer's place: no lock, no clock, no queue. *Move* gives a filed timer
another deadline, *cancel and file* takes one out and files it again, *file and
expire* files all and advances the time, a hundred to a tick.`

func timers(do string, n int, measure func(workload.Timers) float64) comparison {
	return comparison{
		name:  fmt.Sprintf("Timers/timers=%s/do=%.4s", suite.Count(n), do),
		title: fmt.Sprintf("%s, %s timers", do, suite.Count(n)),
		unit:  "ns/timer",
		subjects: []subject{
			{"wheel", "structure=wheel", func() float64 { return measure(wheel{timerwheel.New(0)}) }},
			{"heap", "structure=heap", func() float64 { return measure(new(workload.HeapTimers)) }},
		},
	}
}

func onFiled(r *report, deadlines []uint64, work func(workload.Timers, []uint64, int) time.Duration) func(workload.Timers) float64 {
	return func(t workload.Timers) float64 {
		workload.ScheduleAll(t, deadlines)
		return perItem(work(t, deadlines, r.scale.limiterRuns), r.scale.limiterRuns)
	}
}

func expire(n int) func(workload.Timers) float64 {
	within := max(uint64(n)/100, 1)
	deadlines := workload.TimerDeadlines(n, within)
	return func(t workload.Timers) float64 {
		return perItem(workload.ExpireTimers(t, deadlines, within), n)
	}
}

// wheel adapts a timer wheel to [workload.Timers].
type wheel struct{ *timerwheel.Wheel }

func (w wheel) Expire(now uint64, fire func(id uint32)) {
	const steps = 1 << 20
	for !w.Advance(now, steps, fire) {
	}
}

// ourLimiter is the name of shardq's limiter in tables.
const ourLimiter = "package limiter"

func limiters(r *report) {
	const keys = 1 << 16
	stream := workload.Uniform(workload.Strings(keys))
	var outcomes []outcome
	for _, goroutines := range []int{1, 8} {
		c := comparison{
			name:     fmt.Sprintf("Limiters/goroutines=%d/keys=%s", goroutines, suite.Count(keys)),
			title:    fmt.Sprintf("When and Forget, %d goroutines", goroutines),
			unit:     "ns/item",
			subjects: limiterSubjects(r, stream, goroutines),
		}
		outcomes = append(outcomes, r.compare(c))
	}
	r.section("Limiters", limitersText)
	r.tableOfRatios("ns for a When and a Forget", peer, []string{ourLimiter, "mutex and map"}, outcomes...)
}

const limitersText = `The exponential backoff per item, which is the default limiter of a queue: When
and Forget of keys chosen from 64k, in goroutines that are at different places
of the stream.`

func limiterSubjects(r *report, stream workload.Stream[string], goroutines int) []subject {
	const base, longest = 5 * time.Millisecond, 1000 * time.Second
	items := r.scale.limiterRuns
	measure := func(l workload.Limiter[string]) float64 {
		workload.LimiterCycle(l, stream, goroutines, items/10)
		return perItem(workload.LimiterCycle(l, stream, goroutines, items), items)
	}
	return []subject{
		{ourLimiter, "limiter=shardq", func() float64 {
			return measure(limiter.NewExponential[string](base, longest))
		}},
		{"mutex and map", "limiter=locked-map", func() float64 {
			return measure(workload.NewLockedLimiter[string](base, longest))
		}},
		{peer, "limiter=client-go", func() float64 {
			return measure(workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, longest))
		}},
	}
}
