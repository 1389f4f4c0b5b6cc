package main

import (
	"bytes"
	"iter"
	"regexp"
)

// byLine is the part of a format whose records are lines.
type byLine struct{}

func (byLine) cut(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }

func (byLine) resync(data []byte) int {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1
	}
	return len(data) + 1
}

func (byLine) hasHeader() bool { return false }

// lines yields the lines of the piece without their ends, "\n" or "\r\n", and
// their numbers.
func lines(piece piece) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		number := piece.line
		for line := range bytes.Lines(piece.data) {
			line = bytes.TrimSuffix(line, newline)
			if !yield(number, bytes.TrimSuffix(line, []byte{'\r'})) {
				return
			}
			number++
		}
	}
}

// linesFormat reads lines of text. Each line is an event.
type linesFormat struct {
	byLine
	pattern *regexp.Regexp // nil: the whole line is the key
	group   int            // the group of the pattern that is the key
}

func newLinesFormat(key string) (format, error) {
	if key == "" {
		return linesFormat{}, nil
	}
	pattern, group, err := keyPattern(key)
	return linesFormat{pattern: pattern, group: group}, err
}

func (f linesFormat) start(*piece) (parser, error) { return f, nil }

func (f linesFormat) parse(piece piece, out recorder) {
	for number, line := range lines(piece) {
		if key, ok := f.find(line); ok {
			out.event(key)
		} else if !out.malformed(malformed{piece.file, number, "the -key pattern does not match"}) {
			return
		}
	}
}

// find returns the key of the line, and whether it has one.
func (f linesFormat) find(line []byte) ([]byte, bool) {
	if f.pattern == nil {
		return line, true
	}
	match := f.pattern.FindSubmatchIndex(line)
	if match == nil || match[2*f.group] < 0 {
		return nil, false
	}
	return line[match[2*f.group]:match[2*f.group+1]], true
}
