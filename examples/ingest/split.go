package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// A piece is a run of whole records of a file. It is small enough to be passed
// around, and large enough to make that cheap. Pieces of one file are parsed in
// parallel.
type piece struct {
	file   string
	line   int // of the first record, from 1
	data   []byte
	parser parser
}

const (
	// pieceSize is the number of bytes of one read.
	pieceSize = 256 << 10

	// minRead is the least number of bytes of free room for a read.
	minRead = 4 << 10

	// maxRecord limits the memory of one record, in bytes.
	maxRecord = 16 << 20
)

// split yields the pieces of a file, without their parser, as soon as they have
// been read, so that a slow pipe need not fill a piece. A record that is longer
// than maxRecord is yielded as an error of type [malformed], and split
// continues after it. Any other error is the last: the file cannot be read
// further.
func split(file file, r io.Reader, format format) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		s := splitter{name: file.name, format: format, line: 1, yield: yield}
		if size := file.size(); size > 0 {
			s.data = make([]byte, 0, min(size+minRead, pieceSize))
		}
		if err := s.run(r); err != nil && !errors.Is(err, errSplitEnded) {
			yield(piece{}, err)
		}
	}
}

// splitter is the state of one split.
type splitter struct {
	name     string
	format   format
	line     int    // of the first byte of data
	data     []byte // read but not yielded
	begun    bool   // data is past a byte order mark
	skipping bool   // data begins inside a record that was too long
	yield    func(piece, error) bool
}

// errSplitEnded says that the caller has broken off the loop.
var errSplitEnded = errors.New("split ended")

func (s *splitter) run(r io.Reader) error {
	for {
		s.makeRoom()
		n, err := r.Read(s.data[len(s.data):cap(s.data)])
		s.data = s.data[:len(s.data)+n]
		if err == io.EOF {
			return s.finish()
		}
		if err != nil {
			return fmt.Errorf("%s:%d: the rest cannot be read: %w", s.name, s.line, err)
		}
		if err := s.advance(n); err != nil {
			return err
		}
	}
}

// makeRoom moves the rest to a new buffer if the old one is full.
func (s *splitter) makeRoom() {
	if cap(s.data)-len(s.data) >= minRead {
		return
	}
	s.data = append(make([]byte, 0, max(pieceSize, 2*len(s.data))), s.data...)
}

// begin drops a byte order mark, which is not part of the text. It reports
// whether enough has been read to recognize one.
func (s *splitter) begin() bool {
	if !s.begun && len(s.data) < len(byteOrderMark) && bytes.HasPrefix(byteOrderMark, s.data) {
		return false
	}
	if !s.begun {
		s.data = bytes.TrimPrefix(s.data, byteOrderMark)
		s.begun = true
	}
	return true
}

// advance yields the whole records that have been read. The last n bytes are
// new.
func (s *splitter) advance(n int) error {
	if !s.begin() || s.endsNoRecord(n) {
		return nil
	}
	if s.skipping {
		s.skip()
	}
	if s.skipping {
		return nil
	}
	if n := s.format.cut(s.data); n > 0 {
		return s.send(n)
	}
	if len(s.data) > maxRecord {
		return s.tooLong()
	}
	return nil
}

// endsNoRecord reports whether no record can end in the last n bytes, so that
// the bytes before them need not be searched again.
func (s *splitter) endsNoRecord(n int) bool {
	fresh := s.data[max(0, len(s.data)-n):]
	return len(s.data) <= maxRecord && bytes.IndexByte(fresh, '\n') < 0
}

// finish yields the rest at the end of the file. The last record may lack its
// newline.
func (s *splitter) finish() error {
	s.begin()
	if s.skipping {
		s.skip()
	}
	if s.skipping || len(s.data) == 0 {
		return nil
	}
	return s.send(len(s.data))
}

// send yields the first n bytes, which belong to the caller of split. The
// splitter continues in the rest of the buffer.
func (s *splitter) send(n int) error {
	sent := piece{file: s.name, line: s.line, data: s.data[:n:n]}
	s.line += bytes.Count(sent.data, newline)
	s.data = s.data[n:]
	if !s.yield(sent, nil) {
		return errSplitEnded
	}
	return nil
}

// tooLong abandons the first record of data.
func (s *splitter) tooLong() error {
	bad := malformed{s.name, s.line, fmt.Sprintf("a record of more than %d MiB", maxRecord>>20)}
	s.skipping = true
	s.skip()
	if !s.yield(piece{}, bad) {
		return errSplitEnded
	}
	return nil
}

// skip drops the rest of a record that was too long, as far as it has been
// read.
func (s *splitter) skip() {
	n := s.format.resync(s.data)
	s.skipping = n > len(s.data)
	n = min(n, len(s.data))
	s.line += bytes.Count(s.data[:n], newline)
	s.data = append(s.data[:0], s.data[n:]...)
}

var (
	newline       = []byte{'\n'}
	byteOrderMark = []byte("\ufeff")
)
