package main

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"
)

// printOutcomes prints a table with a column for each queue, and one with a row
// for each work queue.
func printOutcomes(w io.Writer, o options, all []*outcome) {
	fmt.Fprintf(w, "%d Deployments, %d Jobs, %d Namespaces, %d processors, %s, %s\n\n", o.n, o.n, o.n,
		runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	row := func(name string, cell func(*outcome) string) {
		fmt.Fprintf(w, "| %s |", name)
		for _, one := range all {
			fmt.Fprintf(w, " %s |", cell(one))
		}
		fmt.Fprintln(w)
	}
	head := func(name string) {
		row(name, func(o *outcome) string { return o.queue })
		fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(all)))
	}
	head("")
	for i, s := range all[0].steps {
		row(s.name, func(o *outcome) string { return short(o.steps[i].time) })
	}
	row("objects created", func(o *outcome) string { return fmt.Sprint(o.created.sum()) })
	row("of these left at the end", func(o *outcome) string { return fmt.Sprint(o.left.sum()) })
	row("processor time", func(o *outcome) string { return short(o.usage.processor) })
	row("memory, at most", func(o *outcome) string { return fmt.Sprintf("%d MB", o.usage.memory>>20) })
	total := func(cell func(queueMetrics) string) func(*outcome) string {
		return func(o *outcome) string { return cell(o.metrics.total()) }
	}
	row("workqueue_adds_total", total(func(q queueMetrics) string { return fmt.Sprint(int(q.adds)) }))
	row("workqueue_retries_total", total(func(q queueMetrics) string { return fmt.Sprint(int(q.retries)) }))
	row("workqueue_queue_duration_seconds, mean", total(func(q queueMetrics) string { return short(q.duration.mean()) }))
	row("p50 / p99, from its buckets", total(func(q queueMetrics) string {
		return q.duration.quantile(0.5) + " / " + q.duration.quantile(0.99)
	}))
	row("workqueue_depth at the end", total(func(q queueMetrics) string { return fmt.Sprint(int(q.depth)) }))
	row("work queues", func(o *outcome) string { return fmt.Sprint(len(o.metrics)) })
	row("errors in the log", func(o *outcome) string { return fmt.Sprint(o.errors) })
	fmt.Fprintln(w)
	head("work queue: adds, retries, mean duration in the queue")
	for _, name := range busiest(all, 12) {
		row(name, func(o *outcome) string {
			q := o.metrics[name]
			if q == nil {
				return ""
			}
			return fmt.Sprintf("%d, %d, %s", int(q.adds), int(q.retries), short(q.duration.mean()))
		})
	}
}

// busiest returns the names of the queues with the most adds.
func busiest(all []*outcome, most int) []string {
	adds := map[string]float64{}
	for _, o := range all {
		for name, q := range o.metrics {
			adds[name] += q.adds
		}
	}
	names := slices.SortedFunc(maps.Keys(adds), func(a, b string) int {
		if d := adds[b] - adds[a]; d != 0 {
			return int(d)
		}
		return strings.Compare(a, b)
	})
	return names[:min(most, len(names))]
}

func (c counts) sum() (n int) {
	for _, one := range c {
		n += one
	}
	return n
}

// short rounds a duration to three digits.
func short(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
