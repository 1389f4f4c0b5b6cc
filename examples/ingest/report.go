package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// A report is the result of a run.
type report struct {
	pipeline  *pipeline
	elapsed   time.Duration // from the start of reading to the last commit
	stopped   error         // why reading stopped before the end, or nil
	read      tally
	malformed int64
	broken    int64 // files that were not read to their end
	written   written
	proof     proof
	failure   error // of reading back the database
}

// conclude prints the table and the verdict, and returns the exit code.
func (r report) conclude(console *console, stdout io.Writer) int {
	code := exitProven
	fault := func(err error) {
		if err != nil {
			console.notice("%v", err)
			code = exitFailed
		}
	}
	fault(r.print(stdout))
	if errors.Is(r.stopped, errStrict) {
		fault(errStrict)
	} else if r.stopped != nil {
		console.notice("%v: the rest of the input was not read", r.stopped)
	}
	if r.broken > 0 {
		fault(fmt.Errorf("%d files were not read to the end", r.broken))
	}
	fault(r.verdict())
	return code
}

// verdict returns nil if the run is proven.
func (r report) verdict() error {
	if r.read.events == 0 && r.malformed > 0 {
		return fmt.Errorf("NOT PROVEN: nothing was read: all of the %d records are malformed", r.malformed)
	}
	if r.failure != nil {
		return fmt.Errorf("NOT PROVEN: the database cannot be read back: %w", r.failure)
	}
	if err := r.proof.verdict(); err != nil {
		return fmt.Errorf("NOT PROVEN: %w", err)
	}
	return nil
}

// print prints the table.
func (r report) print(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, row := range r.rows() {
		fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
	}
	return table.Flush()
}

func (r report) rows() [][2]string {
	stored, seconds := r.proof.stored.events, max(r.elapsed, time.Nanosecond).Seconds()
	proven := "every event is in the database, to the last one"
	switch {
	case r.verdict() != nil:
		proven = "NOT PROVEN"
	case r.read.events == 0:
		proven = "nothing was read"
	}
	return [][2]string{
		{"pipeline", r.pipeline.describeCrew()},
		{"events", count(r.read.events)},
		{"events per second", count(uint64(float64(r.read.events) / seconds))},
		{"distinct keys", count(r.proof.keys)},
		{"sink writes", count(r.written.writes)},
		{"coalescing factor", decimal(float64(stored)/float64(max(1, r.written.writes))) + " events per write"},
		{"retries", count(r.written.retries)},
		{"greatest depth", count(uint64(r.pipeline.progress.depth.Load()))},
		{"event to commit, p50", r.delay(50)},
		{"event to commit, p99", r.delay(99)},
		{"event to commit, max", milliseconds(r.written.slowest)},
		{"malformed records", count(uint64(r.malformed))},
		{"files cut short", count(uint64(r.broken))},
		{"failed for good", count(r.written.lost.events)},
		{"time", milliseconds(r.elapsed)},
		{"checksum", fmt.Sprintf("%016x read, %016x stored", r.read.checksum, r.proof.stored.checksum)},
		{"proof", proven},
	}
}

func (r report) delay(percentile float64) string {
	atMost := time.Duration(r.written.delays.ValueAtPercentile(percentile))
	return milliseconds(min(atMost, r.written.slowest)) // the histogram rounds up
}

// describeCrew returns the number of goroutines, and of shards if it was set.
func (p *pipeline) describeCrew() string {
	crew := fmt.Sprintf("%d readers, %d workers", p.config.readers, p.config.workers)
	if p.config.shards > 0 {
		crew += fmt.Sprintf(", %d shards", p.config.shards)
	}
	return crew
}

// count formats a whole number.
func count(n uint64) string               { return humanize.Comma(int64(n)) }
func decimal(x float64) string            { return humanize.FormatFloat("#,###.##", x) }
func milliseconds(d time.Duration) string { return decimal(d.Seconds()*1e3) + " ms" }
