package main

import (
	"bufio"
	"context"
	"io"
	"sync"
)

// readAll reads until the end of the input or of the context. Each reader reads
// the files that no other has begun.
func (j *job) readAll() {
	var readers sync.WaitGroup
	for range j.config.readers {
		readers.Go(func() {
			for next := j.files.Add(1); int(next) <= len(j.input.files) && j.ctx.Err() == nil; next = j.files.Add(1) {
				r := &reader{job: j, name: j.input.files[next-1]}
				if err := r.readFile(); err != nil && j.ctx.Err() == nil {
					j.broken.Add(1)
					j.log.Printf("%q: not read to the end: %v", r.name, err)
				}
			}
		})
	}
	readers.Wait()
}

// A reader reads one file.
type reader struct {
	*job
	name string
	file io.Reader
}

func (r *reader) readFile() error {
	file, err := r.input.open(r.ctx, r.name)
	if err != nil {
		return err
	}
	defer file.Close()
	r.file = file
	buffered := bufio.NewReaderSize(r, 256<<10)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" { // is not part of the text
		_, _ = buffered.Discard(len(mark))
	}
	return r.input.format(buffered, r)
}

// Read implements [io.Reader]. It ends with the context.
func (r *reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.file.Read(p)
}

// event counts an event in the tally, and then puts it, so that the tally proves
// the rest of the program. It does not keep key.
func (r *reader) event(key []byte) {
	r.read.add(1, key)
	r.pipeline.put(r.ctx, string(key))
}

// badRecord counts a malformed record, and reports the first ones.
func (r *reader) badRecord(line int, reason string) {
	if n := r.malformed.Add(1); n <= 10 {
		r.log.Printf("malformed: %q:%d: %s", r.name, line, reason)
	} else if n == 11 {
		r.log.Print("malformed: more, which are counted but not named")
	}
}
