package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// reading is the first part of the pipeline, from the input to the coalescer.
type reading struct {
	*pipeline
	complaints *complaints
}

// run reads until the end of the input or of ctx, and returns the tally of all
// events. One goroutine fetches pieces, and the readers parse them.
//
// If ctx ends first, a goroutine that is blocked in a read of standard input
// stays. It adds no more events.
func (r *reading) run(ctx context.Context) tally {
	pieces := make(chan piece, r.config.readers)
	go r.fetch(ctx, pieces)
	tallies := make([]tally, r.config.readers)
	var readers sync.WaitGroup
	for i := range tallies {
		readers.Go(func() { tallies[i] = r.parse(ctx, pieces) })
	}
	readers.Wait()
	var all tally
	for _, one := range tallies {
		all = all.plus(one)
	}
	return all
}

// fetch sends the pieces of all files, and closes the channel.
func (r *reading) fetch(ctx context.Context, pieces chan<- piece) {
	defer close(pieces)
	for _, file := range r.input.files {
		if err := r.fetchFile(ctx, file, pieces); err != nil {
			r.complaints.broken(err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// fetchFile sends the pieces of one file. It returns an error if it cannot read
// the file to its end.
func (r *reading) fetchFile(ctx context.Context, file file, pieces chan<- piece) error {
	opened, err := file.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	var parser parser
	for piece, err := range split(file, opened, r.input.format) {
		if bad := (malformed{}); errors.As(err, &bad) {
			r.complaints.malformed(bad)
			continue
		}
		if err == nil && parser == nil {
			parser, err = r.input.format.start(&piece)
		}
		if err != nil {
			return err
		}
		piece.parser = parser
		select {
		case pieces <- piece:
			r.progress.bytes.Add(int64(len(piece.data)))
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// parse parses pieces until there are no more, or ctx ends, and returns the
// tally of their events. It finishes a piece that it has begun.
func (r *reading) parse(ctx context.Context, pieces <-chan piece) tally {
	reader := reader{complaints: r.complaints, start: r.progress.start, found: map[string]*value{}}
	for ctx.Err() == nil {
		select {
		case piece, more := <-pieces:
			if !more {
				return reader.tally
			}
			r.parsePiece(ctx, piece, &reader)
		case <-ctx.Done():
		}
	}
	return reader.tally
}

func (r *reading) parsePiece(ctx context.Context, piece piece, reader *reader) {
	before := reader.tally.events
	piece.parser.parse(piece, reader)
	r.progress.events.Add(int64(reader.tally.events - before))
	r.put(ctx, reader.found)
	clear(reader.found)
	r.progress.sampleDepth(r.events)
}

// put puts the values of a piece. It blocks while the coalescer is full. It
// also puts what was read before ctx ends.
func (r *reading) put(ctx context.Context, found map[string]*value) {
	for key, v := range found {
		if r.events.PutContext(ctx, key, *v) != nil {
			_ = r.events.Put(key, *v) // fails only after a shutdown, which begins after the readers have ended
		}
	}
}

// A reader collects what one goroutine finds. It adds up the events of a piece
// first, so that a frequent key needs one Put.
type reader struct {
	complaints *complaints
	start      time.Time
	found      map[string]*value
	tally      tally
}

// event adds to the tally first, so that the tally also proves the rest of the
// pipeline.
func (r *reader) event(key []byte) {
	r.tally.add(1, hashKey(key))
	if known := r.found[string(key)]; known != nil { // does not allocate
		known.count++
		return
	}
	r.found[string(key)] = &value{count: 1, first: time.Since(r.start)}
}

func (r *reader) malformed(bad malformed) bool { return r.complaints.malformed(bad) }

// complaints reports and counts faults of the input. It is safe for concurrent
// use.
type complaints struct {
	console        *console
	strict         context.CancelCauseFunc // nil: continue after a malformed record
	malformedCount atomic.Int64
	brokenCount    atomic.Int64
}

// maxComplaints limits the printed complaints of one kind. More are only
// counted.
const maxComplaints = 10

// malformed reports whether to continue.
func (c *complaints) malformed(bad malformed) bool {
	count := c.malformedCount.Add(1)
	if count <= maxComplaints {
		c.console.notice("malformed: %v", bad)
	}
	if count == maxComplaints+1 {
		c.console.notice("malformed: more, which are counted but not named")
	}
	if c.strict != nil {
		c.strict(errStrict)
	}
	return c.strict == nil
}

// counts returns the number of malformed records and of broken files.
func (c *complaints) counts() (malformed, broken int64) {
	return c.malformedCount.Load(), c.brokenCount.Load()
}

// broken reports a file that could not be read to its end.
func (c *complaints) broken(err error) {
	c.brokenCount.Add(1)
	c.console.notice("not read to the end: %v", err)
}
