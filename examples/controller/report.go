package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/dustin/go-humanize"
)

// A report is the result of a run.
type report struct {
	controller *controller
	elapsed    time.Duration
	proof      proof
	failure    error // of the database or of the drain
}

// conclude prints the report and the verdict, and returns the exit code.
func (r report) conclude(stdout io.Writer) int {
	verdict := r.verdict()
	if err := errors.Join(verdict, r.print(stdout, verdict)); err != nil {
		r.controller.log.Printf("NOT PROVEN: %v", err)
		return exitFailed
	}
	return exitProven
}

// verdict returns nil if the run is proven.
func (r report) verdict() error {
	ledger := r.controller.ledger
	var overlaps error
	if ledger.overlaps > 0 {
		overlaps = fmt.Errorf("%d turns began while another worker had the object", ledger.overlaps)
	}
	return errors.Join(r.failure, overlaps, r.proof.verdict(len(ledger.entries)))
}

func (r report) print(stdout io.Writer, verdict error) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.printTenants(table)
	r.printCauses(table)
	err := table.Flush()
	facts := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	r.printFacts(facts, verdict)
	return errors.Join(err, facts.Flush())
}

func (r report) printTenants(table io.Writer) {
	tallies := r.controller.ledger.tallies
	fmt.Fprintln(table, "tenant\tchanges\treconciles\tdeduplicated\tretries\trefused\tdiscarded\tdelay p50\tp99\tmax\t")
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		t := tallies[name]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, count(t.changes), count(t.reconciles),
			count(t.deduplicated), count(t.retries), count(t.refused), count(t.exhausted), t.delays)
	}
	fmt.Fprintln(table)
}

// printCauses prints the delays that priorities and groups affect.
func (r report) printCauses(table io.Writer) {
	fmt.Fprintln(table, "delay until converged\tof\tp50\tp99\tmax\t")
	for cause, name := range [numberOfCauses]string{
		inInitialList: "the initial list",
		besideList:    "changes of others beside the initial list",
		flooding:      "changes of the tenant that floods",
		besideFlood:   "changes of others beside the flood",
		besideNothing: "changes of others at other times",
	} {
		delays := r.controller.ledger.delays[cause]
		if n := delays.histogram.TotalCount(); name != "" && n > 0 {
			fmt.Fprintf(table, "%s\t%s\t%s\t\n", name, count(n), delays)
		}
	}
	fmt.Fprintln(table)
}

func (r report) printFacts(table io.Writer, verdict error) {
	reconciler, queue := r.controller.reconciler, r.controller.queue.Stats()
	proven := "every object is in its desired state, or was refused"
	if verdict != nil {
		proven = "NOT PROVEN"
	}
	for _, row := range [][2]string{
		{"adds", count(queue.Added + queue.Deduplicated)},
		{"deduplicated adds", count(queue.Deduplicated)},
		{"asked to retry later", count(reconciler.throttlings.Load())},
		{"panics", count(reconciler.panics.Load())},
		{"hung for " + stuckAfter.String(), count(reconciler.hangs.Load())},
		{"lost and found", count(reconciler.repairs.Load())},
		{"two workers at once", count(r.controller.ledger.overlaps)},
		{"time", r.elapsed.Round(time.Millisecond).String()},
		{"objects", fmt.Sprintf("%s, %s of them refused", count(r.proof.objects), count(r.proof.refused))},
		{"proof", proven},
	} {
		fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
	}
}

func count[N int | int64 | uint64](n N) string { return humanize.Comma(int64(n)) }

// delays are a distribution of times. They belong to the ledger, and are not
// safe for concurrent use.
type delays struct {
	histogram *hdrhistogram.Histogram
	longest   time.Duration
}

// maxDelay is the longest delay that the histogram distinguishes.
const maxDelay = time.Hour

func newDelays() *delays {
	return &delays{histogram: hdrhistogram.New(1, maxDelay.Microseconds(), 3)}
}

func (d *delays) record(delay time.Duration) {
	d.longest = max(d.longest, delay)
	_ = d.histogram.RecordValue(min(delay, maxDelay).Microseconds()) // cannot fail: it is in range
}

// String returns three cells of a table: the median, the 99th percentile, and
// the longest.
func (d *delays) String() string {
	if d.histogram.TotalCount() == 0 {
		return "–\t–\t–"
	}
	return d.at(50) + "\t" + d.at(99) + "\t" + milliseconds(d.longest)
}

// at returns a percentile. The histogram rounds up, but at does not exceed the
// longest.
func (d *delays) at(percentile float64) string {
	return milliseconds(min(d.longest, time.Duration(d.histogram.ValueAtPercentile(percentile))*time.Microsecond))
}

func milliseconds(d time.Duration) string {
	return humanize.FormatFloat("#,###.#", float64(d.Microseconds())/1000) + " ms"
}
