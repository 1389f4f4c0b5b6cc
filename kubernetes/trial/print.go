package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// printOutcomes prints a table with a column for each queue.
func printOutcomes(w io.Writer, o options, all []outcome) {
	fmt.Fprintf(w, "%d tasks, %d workers, %v of work for each, medians of %d rounds, %d processors, %s, %s\n\n",
		o.tasks, o.workers, o.work, o.rounds, runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	row := func(name string, cell func(*outcome) string) {
		fmt.Fprintf(w, "| %s |", name)
		for i := range all {
			fmt.Fprintf(w, " %s |", cell(&all[i]))
		}
		fmt.Fprintln(w)
	}
	row("", func(o *outcome) string { return o.queue })
	fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(all)))
	row("initial list reconciled", func(o *outcome) string { return short(o.initial) })
	for _, part := range []string{partAmid, partBurst, partFlood, partQuiet} {
		row(part+": from change to reconcile, p50 / p99", func(o *outcome) string {
			t := o.report.Parts[part]
			return short(t.Median) + " / " + short(t.P99)
		})
	}
	row("an add, as the informer sees it, p50 / p99 / max", func(o *outcome) string {
		t := o.report.Adds
		return short(t.Median) + " / " + short(t.P99) + " / " + short(t.Max)
	})
	row("writes accepted per change", func(o *outcome) string {
		return fmt.Sprintf("%.2f", o.writes)
	})
	if !o.faults {
		row("reconciles per change", func(o *outcome) string {
			return fmt.Sprintf("%.2f", float64(o.report.Reconciles)/float64(o.changes))
		})
	}
	row("processor time of the manager, faults included", func(o *outcome) string { return short(o.processor) })
	row("memory from the system", func(o *outcome) string { return fmt.Sprintf("%d MB", o.report.Memory>>20) })
	row("tasks left unreconciled", func(o *outcome) string { return fmt.Sprint(o.left) })
	row("reconciled twice at once", func(o *outcome) string { return fmt.Sprint(o.report.Doubled + o.overlaps) })
	for i := range all {
		if i == 0 && len(all[i].faults) > 0 {
			fmt.Fprintln(w, "\nThe faults: "+strings.Join(all[i].faults, "; ")+".")
		}
	}
}

// short rounds a duration to three digits.
func short(d time.Duration) string {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}
