package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// The names of the formats.
const (
	formatGo     = "go"
	formatLines  = "lines"
	formatNDJSON = "ndjson"
	formatCSV    = "csv"
)

func formatNames() []string { return []string{formatGo, formatLines, formatNDJSON, formatCSV} }

// formatByName returns the format of which a file's name tells, or "".
func formatByName(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".go":
		return formatGo
	case ".ndjson", ".jsonl":
		return formatNDJSON
	case ".csv":
		return formatCSV
	}
	return ""
}

// A format finds the records of a file and their keys. It is immutable.
type format interface {
	// cut returns the length of the longest run of whole records that data
	// begins with. Data begins with a record, and more of the file follows it.
	cut(data []byte) int

	// resync returns how much of data, which begins inside a record, is to be
	// dropped up to the next one: len(data) or more if none begins there.
	resync(data []byte) int

	// hasHeader reports whether start can fail.
	hasHeader() bool

	// start is given the first piece of a file. It takes the header off it and
	// returns the parser of the file's pieces.
	start(first *piece) (parser, error)
}

// A parser finds the keys in the pieces of one file. It is safe for concurrent
// use.
type parser interface {
	// parse tells out of each event and malformed record in the piece.
	parse(piece piece, out recorder)
}

// A recorder is told what a parser finds, by one goroutine at a time.
type recorder interface {
	// event counts one event. It does not keep key.
	event(key []byte)

	// malformed counts one malformed record, and reports whether to go on.
	malformed(bad malformed) bool
}

// A malformed record, or part of one, that had to be skipped.
type malformed struct {
	file   string
	line   int
	reason string
}

func (m malformed) Error() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.reason) }

// newFormat returns the format of that name, or an error if it has no such key.
func newFormat(name, key string) (format, error) {
	switch name {
	case formatGo:
		return newGoFormat(key)
	case formatNDJSON:
		return newNDJSONFormat(key)
	case formatCSV:
		return newCSVFormat(key)
	}
	return newLinesFormat(key)
}
