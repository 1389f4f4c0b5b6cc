package main

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/dustin/go-humanize"
)

// total adds the positions of the readers up.
func (j *job) total() (all position) {
	for _, r := range j.readers {
		all.Offset += r.Offset
		all.Checksum += r.Checksum
		all.Malformed += r.Malformed
		all.Broken += r.Broken
	}
	return all
}

func hash(key []byte) int64 { return int64(xxhash.Sum64(key)) }

type report struct {
	*job
	read, stored position // offset is the number of events
	keys         int64    // distinct keys in the database
	failure      error    // of reading the database back
}

func (r *report) readBack() error {
	database, err := openDatabase(r.sink.path)
	if err != nil {
		return err
	}
	defer database.Close()
	rows, err := database.Query("SELECT key, count FROM ingest_counts WHERE run = ?", r.sink.run)
	if err != nil {
		return err
	}
	defer rows.Close()
	var key sql.RawBytes
	var count int64
	for ; rows.Next() && err == nil; r.keys++ {
		err = rows.Scan(&key, &count)
		r.stored.Offset += count
		r.stored.Checksum += count * hash(key)
	}
	return errors.Join(err, rows.Err())
}

// verdict compares the events that the readers have counted with the database. An
// event that is lost or doubled goes unnoticed once in about 2^64.
func (r *report) verdict() error {
	read, stored, lost, left := r.read.Offset, r.stored.Offset, r.pipeline.lost.Load(), r.pipeline.left.Load()
	switch {
	case read == 0 && r.read.Malformed > 0:
		return fmt.Errorf("NOT PROVEN: nothing was read: %s malformed", plural(r.read.Malformed, "record"))
	case r.sink.broken != nil:
		return r.sink.broken
	case lost > 0:
		return fmt.Errorf("NOT PROVEN: %d of the %d events failed for good", lost, read)
	case r.failure != nil:
		return fmt.Errorf("NOT PROVEN: the database cannot be read back: %w", r.failure)
	case stored != read-left:
		return fmt.Errorf("NOT PROVEN: %d events were read, but the database has %d", read-left, stored)
	case left == 0 && r.stored.Checksum != r.read.Checksum:
		return fmt.Errorf("NOT PROVEN: the database has all %d events, but not with the same keys", read)
	}
	return nil
}

func (j *job) conclude(stdout io.Writer) int {
	r := &report{job: j, read: j.total()}
	r.failure = errors.Join(j.failure, r.readBack())
	faults := []error{r.print(stdout), r.verdict()}
	if r.read.Broken > 0 {
		faults = append(faults, fmt.Errorf("%s not read to the end", plural(r.read.Broken, "file")))
	}
	code := exitProven
	if j.ended != nil && !errors.Is(errors.Join(j.failure, j.sink.broken), errFenced) {
		code = exitEnded
		next := map[bool]string{true: "with -db, the same command could go on", false: "the same command goes on from here"}
		j.log.Printf("%v: the rest of the input was not read; %s", j.ended, next[j.sink.temporary])
	}
	if err := errors.Join(faults...); err != nil {
		code = exitFailed
		j.log.Print(err)
	}
	return code
}

func (r *report) print(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	row := func(name string, value any) {
		if n, ok := value.(int64); ok {
			value = humanize.Comma(n)
		}
		fmt.Fprintf(table, "%s\t%v\n", name, value)
	}
	p, events, writes := r.pipeline, r.read.Offset, r.pipeline.writes.Load()
	row("pipeline", plural(r.config.readers, "reader")+", "+plural(r.config.workers, "worker"))
	row("events", events)
	if events > 0 {
		row("events per second", int64(float64(events-r.begun)/max(r.elapsed.Seconds(), 1e-9)))
		row("distinct keys", r.keys)
		row("sink writes", writes)
		if writes > 0 {
			row("coalescing factor", fmt.Sprintf("%.2f events per write", float64(events-r.begun)/float64(writes)))
		}
		row("retries", p.retries.Load())
		row("failed for good", p.lost.Load())
		row("checksum", fmt.Sprintf("%016x read, %016x stored", uint64(r.read.Checksum), uint64(r.stored.Checksum)))
	}
	row("malformed records", r.read.Malformed)
	row("files cut short", r.read.Broken)
	row("time", r.elapsed.Round(time.Microsecond))
	proof := "every event is in the database, to the last one"
	if r.verdict() != nil {
		proof = "NOT PROVEN"
	} else if left := p.left.Load(); left > 0 {
		proof = fmt.Sprintf("every event is in the database, but for %d that the next run reads again", left)
	} else if events == 0 {
		proof = "nothing was read"
	}
	row("proof", proof)
	return table.Flush()
}

func (j *job) showProgress() (end func()) {
	ended := make(chan bool)
	go func() {
		for ticks := time.Tick(time.Second); ; {
			select {
			case <-ticks:
				j.log.Print(j.progress())
			case ended <- true:
				return
			}
		}
	}()
	return func() { <-ended }
}

func (j *job) progress() string {
	p, events := j.pipeline, int64(0)
	for _, r := range j.readers {
		events += r.progress.Load()
	}
	return fmt.Sprintf("%s, %s/s, %s, %s pending, %s", plural(events, "event"),
		short(float64(events-j.begun)/time.Since(p.start).Seconds()), plural(p.writes.Load(), "write"), plural(p.events.Len(), "key"),
		plural(p.retries.Load(), "retry"))
}

func plural[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun = strings.ReplaceAll(noun+"s", "trys", "tries")
	}
	return short(float64(n)) + " " + noun
}

func short(n float64) string {
	return strings.ReplaceAll(humanize.SIWithDigits(n, 1, ""), " ", "")
}
