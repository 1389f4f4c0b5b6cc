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

// formatByName returns the format that a file's name implies, or "".
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
	// cut returns the length of the longest run of whole records at the start
	// of data. Data begins with a record, and is not the end of the file.
	cut(data []byte) int

	// resync returns the number of bytes of data, which begins inside a record,
	// up to the next record: len(data) or more if none begins there.
	resync(data []byte) int

	// hasHeader reports whether start can fail.
	hasHeader() bool

	// start takes the header off the first piece of a file, and returns the
	// parser of the file's pieces.
	start(first *piece) (parser, error)
}

// A parser finds the keys in the pieces of one file. It is safe for concurrent
// use.
type parser interface {
	// parse reports each event and malformed record in the piece to out.
	parse(piece piece, out recorder)
}

// A recorder accepts what a parser finds. One goroutine at a time calls it.
type recorder interface {
	// event counts an event. It does not keep key.
	event(key []byte)

	// malformed counts a malformed record, and reports whether to continue.
	malformed(bad malformed) bool
}

// A malformed is a malformed record, or part of one, that was skipped.
type malformed struct {
	file   string
	line   int
	reason string
}

func (m malformed) Error() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.reason) }

// newFormat returns the format of that name, or an error if it does not accept
// the key.
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
