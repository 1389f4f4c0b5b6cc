package main

import (
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// A tally has the number of events, and the sum of the hashes of their keys. An
// event that is lost or doubled goes unnoticed once in about 2^64.
type tally struct{ events, checksum atomic.Uint64 }

var keySeed = maphash.MakeSeed()

func (t *tally) add(count uint64, key []byte) {
	t.events.Add(count)
	t.checksum.Add(count * maphash.Bytes(keySeed, key))
}

type report struct {
	*job
	elapsed time.Duration // from the start of reading to the last commit
	stored  tally         // in the database
	keys    int64         // distinct keys in the database
	failure error         // of closing the database, or of reading it back
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
	var count uint64
	for ; rows.Next() && err == nil; r.keys++ {
		err = rows.Scan(&key, &count)
		r.stored.add(count, key)
	}
	return errors.Join(err, rows.Err())
}

func (r *report) verdict() error {
	read, stored, lost, bad := r.read.events.Load(), r.stored.events.Load(), r.pipeline.lost.Load(), r.malformed.Load()
	switch {
	case read == 0 && bad > 0:
		return fmt.Errorf("NOT PROVEN: nothing was read: %s malformed", plural(bad, "record"))
	case lost > 0:
		return fmt.Errorf("NOT PROVEN: %d of the %d events failed for good", lost, read)
	case r.failure != nil:
		return fmt.Errorf("NOT PROVEN: the database cannot be read back: %w", r.failure)
	case stored != read:
		return fmt.Errorf("NOT PROVEN: %d events were read, but the database has %d", read, stored)
	case r.stored.checksum.Load() != r.read.checksum.Load():
		return fmt.Errorf("NOT PROVEN: the database has all %d events, but not with the same keys", read)
	}
	return nil
}

func (r *report) conclude(stdout io.Writer) int {
	faults := []error{r.print(stdout), r.sink.broken, r.verdict()}
	if n := r.broken.Load(); n > 0 {
		faults = append(faults, fmt.Errorf("%s not read to the end", plural(n, "file")))
	}
	if err := errors.Join(faults...); err != nil {
		r.log.Print(err)
		return exitFailed
	}
	return exitProven
}

func (r *report) print(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	row := func(name string, value any) {
		if n, ok := value.(int64); ok {
			value = humanize.Comma(n)
		}
		fmt.Fprintf(table, "%s\t%v\n", name, value)
	}
	p, events, writes := r.pipeline, int64(r.read.events.Load()), r.pipeline.writes.Load()
	row("pipeline", plural(r.config.readers, "reader")+", "+plural(r.config.workers, "worker"))
	row("events", events)
	if events > 0 {
		row("events per second", int64(float64(events)/r.elapsed.Seconds()))
		row("distinct keys", r.keys)
		row("sink writes", writes)
		if writes > 0 {
			row("coalescing factor", fmt.Sprintf("%.2f events per write", float64(r.stored.events.Load())/float64(writes)))
		}
		row("retries", p.retries.Load())
		row("failed for good", int64(p.lost.Load()))
		row("checksum", fmt.Sprintf("%016x read, %016x stored", r.read.checksum.Load(), r.stored.checksum.Load()))
	}
	row("malformed records", r.malformed.Load())
	row("files cut short", r.broken.Load())
	row("time", r.elapsed.Round(time.Microsecond))
	proof := "every event is in the database, to the last one"
	if r.verdict() != nil {
		proof = "NOT PROVEN"
	} else if events == 0 {
		proof = "nothing was read"
	}
	row("proof", proof)
	return table.Flush()
}

func (j *job) showProgress() (end func()) {
	ended := make(chan struct{})
	go func() {
		for ticks := time.Tick(time.Second); ; {
			select {
			case <-ticks:
				j.log.Print(j.progress())
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

func (j *job) progress() string {
	p, events := j.pipeline, j.read.events.Load()
	text := fmt.Sprintf("%s, %s/s, %s, %s pending, %s of %s begun", plural(events, "event"),
		short(float64(events)/time.Since(p.start).Seconds()), plural(p.writes.Load(), "write"), plural(p.events.Len(), "key"),
		short(float64(min(int(j.files.Load()), len(j.input.files)))), plural(len(j.input.files), "file"))
	if retries := p.retries.Load(); retries > 0 {
		text += ", " + plural(retries, "retry")
	}
	return text
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
