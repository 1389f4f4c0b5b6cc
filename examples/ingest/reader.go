package main

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq/coalesce"
)

// A position is a place in the files of a reader where reading can begin, with
// what the reader has counted up to there.
type position struct {
	Offset            int64 // of the next event: the number of events before
	File              int   // of the reader's files
	At                int64 // byte
	Checksum          int64
	Malformed, Broken int64 // records, and files that were cut short
}

// A reader reads each n-th file, which makes one log of their events: a source.
type reader struct {
	*job
	number int
	name   string // of the file
	source *coalesce.Source[string, value]
	ahead  map[string]int64 // the highest offsets of keys that the database has beyond the position
	file   io.Reader
	position
	progress atomic.Int64 // the offset, now and then
	mu       sync.Mutex
	marks    []position // the first is the position of the database
}

func (j *job) newReader(number int) (r *reader, err error) {
	r = &reader{job: j, number: number, position: j.sink.positions[number]}
	r.mark()
	if r.ahead, err = j.sink.load(number); err == nil {
		r.source, err = j.pipeline.events.NewSource(strconv.Itoa(number), r.Offset)
	}
	return r, err
}

func (j *job) readAll() {
	var readers sync.WaitGroup
	for _, r := range j.readers {
		readers.Go(r.read)
	}
	readers.Wait()
}

func (r *reader) read() {
	for i := r.number + r.File*len(r.readers); i < len(r.input.files) && r.ctx.Err() == nil; i += len(r.readers) {
		r.name = r.input.files[i]
		err := r.readFile()
		switch {
		case r.ctx.Err() != nil:
			return
		case err != nil:
			r.Broken++
			r.log.Printf("%q: not read to the end: %v", r.name, err)
		}
		r.File, r.At = r.File+1, 0
		r.mark()
	}
	r.ahead = nil
}

func (r *reader) readFile() error {
	file, err := r.input.open(r.ctx, r.name, r.At)
	if err != nil {
		return err
	}
	defer file.Close()
	r.file = file
	buffered := bufio.NewReaderSize(r, 256<<10)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" && r.At == 0 { // is not part of the text
		_, _ = buffered.Discard(len(mark))
		r.At += int64(len(mark))
	}
	return r.input.format(buffered, r)
}

func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.file.Read(p)
}

// event blocks while the coalescer is full, until ctx ends. It does not keep text.
func (r *reader) event(text []byte) {
	key := string(text)
	if written, is := r.ahead[key]; is && r.Offset <= written {
		_ = r.source.Skip(r.Offset)
	} else if r.source.PutContext(r.ctx, key, 1, r.Offset, coalesce.PutOptions{}) != nil {
		_ = r.source.Put(key, 1, r.Offset) // fails only after a shutdown, which the end of the reading begins
	}
	r.Offset++
	r.Checksum += hash(text)
}

func (r *reader) badRecord(line int, reason string) {
	if r.Malformed++; r.config.verbose {
		r.log.Printf("malformed: %q:%d: %s", r.name, line, reason)
	}
}

func (r *reader) mark() {
	r.progress.Store(r.Offset)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, r.position)
}

// safe returns the last mark before which all events are done.
func (r *reader) safe() position {
	offset := r.source.Safe()
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.marks) > 1 && r.marks[1].Offset <= offset {
		r.marks = r.marks[1:]
	}
	return r.marks[0]
}
