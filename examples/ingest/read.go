package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// reading is the first part of the pipeline: from the input to the queue.
type reading struct {
	*stage
	input      input
	complaints *complaints
}

// run reads until the end of the input or of ctx and returns the tally of all
// events read. One goroutine fetches pieces and the readers parse them.
//
// Where ctx ends first, whoever is blocked in a read of standard input is left
// behind: no event comes from it any more.
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

// fetchFile sends the pieces of one file. It returns an error if the file cannot
// be read to its end.
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

// parse parses pieces until there are no more, or ctx ends, and returns the tally
// of their events. A piece that is begun is also finished.
func (r *reading) parse(ctx context.Context, pieces <-chan piece) tally {
	reader := reader{pending: r.pending, queue: r.queue, complaints: r.complaints}
	for {
		r.pending.waitForRoom(ctx)
		if ctx.Err() != nil {
			return reader.tally
		}
		select {
		case piece, more := <-pieces:
			if !more {
				return reader.tally
			}
			r.parsePiece(piece, &reader)
		case <-ctx.Done():
		}
	}
}

func (r *reading) parsePiece(piece piece, reader *reader) {
	before := reader.tally.events
	piece.parser.parse(piece, reader)
	r.progress.events.Add(int64(reader.tally.events - before))
	r.progress.sampleDepth(r.queue)
}

// A reader takes up what one goroutine finds.
type reader struct {
	pending    *pending
	queue      engine
	complaints *complaints
	tally      tally
}

// event tallies the event before anything else sees it, so that the tally is
// evidence against the whole of the pipeline.
func (r *reader) event(key []byte) {
	hash := hashKey(key)
	r.tally.add(1, hash)
	r.queue.Add(r.pending.merge(key, hash))
}

func (r *reader) malformed(bad malformed) bool { return r.complaints.malformed(bad) }

// complaints names what is wrong with the input, and counts it. It is safe for
// concurrent use.
type complaints struct {
	console        *console
	strict         context.CancelCauseFunc // nil: go on after a malformed record
	malformedCount atomic.Int64
	brokenCount    atomic.Int64
}

// maxComplaints is how many complaints of one kind are printed; more are only
// counted.
const maxComplaints = 10

// malformed reports whether to go on.
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

// counts returns how many malformed records and broken files there were.
func (c *complaints) counts() (malformed, broken int64) {
	return c.malformedCount.Load(), c.brokenCount.Load()
}

// broken tells of a file that could not be read to its end.
func (c *complaints) broken(err error) {
	c.brokenCount.Add(1)
	c.console.notice("not read to the end: %v", err)
}
