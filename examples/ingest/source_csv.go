package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// csvFormat reads comma-separated values as [csv.Reader] does. Each record is
// an event, whose key is one of its fields.
type csvFormat struct {
	byLine        // for resync: a record that is too long ends with its line
	name   string // of the key's column; empty if column is set and there is no header
	column int    // of the key, from 0
}

func newCSVFormat(key string) (format, error) {
	if key == "" {
		return csvFormat{}, nil
	}
	number, err := strconv.Atoi(key)
	if err != nil {
		return csvFormat{name: key}, nil
	}
	if number < 1 || number > math.MaxInt32 {
		return nil, fmt.Errorf("-key %s: CSV columns are numbered from 1", key)
	}
	return csvFormat{column: number - 1}, nil
}

func (f csvFormat) hasHeader() bool { return f.name != "" }

func (f csvFormat) start(first *piece) (parser, error) {
	if f.name == "" {
		return csvParser{column: f.column, fields: -1}, nil
	}
	records := csv.NewReader(bytes.NewReader(first.data))
	header, err := records.Read()
	if err != nil {
		return nil, malformed{first.file, first.line, fmt.Sprintf("no header: %v", err)}
	}
	column := slices.Index(header, f.name)
	if column < 0 {
		reason := fmt.Sprintf("no column is named %q; there are %q", f.name, header)
		return nil, malformed{first.file, first.line, reason}
	}
	end := int(records.InputOffset())
	first.line += bytes.Count(first.data[:end], newline)
	first.data = first.data[end:]
	return csvParser{column: column, fields: len(header)}, nil
}

// csvParser parses the pieces of one CSV file.
type csvParser struct {
	column int // of the key, from 0
	fields int // of each record, or -1 for any number
}

func (p csvParser) parse(piece piece, out recorder) {
	records := csv.NewReader(bytes.NewReader(piece.data))
	records.ReuseRecord = true
	records.FieldsPerRecord = p.fields
	var key []byte
	for {
		begin := records.InputOffset()
		record, err := records.Read()
		if err == io.EOF {
			return
		}
		if errors.Is(err, csv.ErrQuote) {
			err = nameOpenQuote(piece.data, int(begin), err)
		}
		if err == nil && p.column < len(record) {
			key = append(key[:0], record[p.column]...)
			out.event(key)
		} else if !out.malformed(p.complaint(piece, records, record, err)) {
			return
		}
	}
}

// openQuote is the error of the last record of a file, if it has a quote that
// is not closed. That record contains the rest of the file.
type openQuote struct{ line int } // that the record begins with, from 0

func (openQuote) Error() string {
	return "the file ends inside a quoted field of the record that begins here"
}

// nameOpenQuote returns an openQuote if the record at begin would continue
// after a newline at the end of data, and otherwise err.
func nameOpenQuote(data []byte, begin int, err error) error {
	record := bytes.TrimLeft(data[begin:], "\r\n") // blank lines are no records
	before := len(data) - len(record)
	if csvRecordLength(append(record[:len(record):len(record)], '\n')) > 0 {
		return err
	}
	return openQuote{bytes.Count(data[:before], newline)}
}

// complaint returns the fault of the record, or of the text in its place.
func (p csvParser) complaint(piece piece, records *csv.Reader, record []string, err error) malformed {
	if open, is := err.(openQuote); is {
		return malformed{piece.file, piece.line + open.line, open.Error()}
	}
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return malformed{piece.file, piece.line + syntax.StartLine - 1, syntax.Err.Error()}
	}
	line, _ := records.FieldPos(0)
	reason := fmt.Sprintf("the key is in column %d, and there are %d", p.column+1, len(record))
	return malformed{piece.file, piece.line + line - 1, reason}
}

// cut finds the last newline that ends a record, by the grammar of
// [csv.Reader]: a newline within quotes does not. If cut were wrong, records
// would be torn between pieces, and the result would depend on the size of
// pieces.
func (csvFormat) cut(data []byte) int {
	end := 0
	for {
		n := csvRecordLength(data[end:])
		if n == 0 {
			return end
		}
		end += n
	}
}

// csvRecordLength returns the length of the first record or blank line in data,
// with its newline, or 0 if it does not end in data. A record with a misplaced
// quote ends with the line of that quote, because [csv.Reader] continues there.
func csvRecordLength(data []byte) int {
	line := csvLineLength(data, 0)
	if line == 0 || bytes.IndexByte(data[:line], '"') < 0 {
		return line
	}
	for at := 0; at < len(data); at++ { // from field to field, past the comma
		if data[at] == '"' {
			at = csvQuotedEnd(data, at+1)
		} else {
			at += max(0, bytes.IndexAny(data[at:], ",\"\n"))
		}
		if at >= len(data) || data[at] != ',' {
			return csvLineLength(data, at)
		}
	}
	return 0
}

// csvQuotedEnd returns the index after the quote that closes the field whose
// text begins at the index, or len(data) if that is not in data.
func csvQuotedEnd(data []byte, at int) int {
	for {
		n := bytes.IndexByte(data[at:], '"')
		if n < 0 {
			return len(data)
		}
		at += n + 1
		if at >= len(data) || data[at] != '"' {
			return at
		}
		at++ // two quotes stand for one
	}
}

// csvLineLength returns the index after the first newline from the index on, or
// 0 if there is none.
func csvLineLength(data []byte, from int) int {
	n := bytes.IndexByte(data[from:], '\n')
	if n < 0 {
		return 0
	}
	return from + n + 1
}
