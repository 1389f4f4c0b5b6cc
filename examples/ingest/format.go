package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// A format reads a file, and returns an error if it does not reach the end.
type format func(file *bufio.Reader, out *reader) error

var formats = []string{"go", "lines", "ndjson"}

func formatOf(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".go":
		return "go"
	case ".ndjson", ".jsonl":
		return "ndjson"
	}
	return "lines"
}

func newFormat(name, key string) (format, error) {
	switch {
	case name == "go" && key != "":
		return nil, errors.New("-key has no meaning with -format go: the identifiers are the keys")
	case name == "go":
		return readGo, nil
	case name == "ndjson" && key == "":
		return nil, errors.New("-format ndjson needs a -key: the path of the key in each value, such as user.name")
	case name == "ndjson":
		return byLine(func(line []byte) ([]byte, string) { return findJSON(line, key) }), nil
	case key == "":
		return byLine(func(line []byte) ([]byte, string) { return line, "" }), nil
	}
	return newMatch(key)
}

func readGo(file *bufio.Reader, out *reader) error {
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	source := token.NewFileSet().AddFile("", -1, len(text))
	var tokens scanner.Scanner
	tokens.Init(source, text, func(at token.Position, reason string) {
		// The physical line: at.Line follows //line comments.
		out.badRecord(source.PositionFor(source.Pos(at.Offset), false).Line, reason)
	}, 0)
	for {
		at, kind, name := tokens.Scan()
		switch kind {
		case token.EOF:
			return nil
		case token.IDENT:
			offset := source.Offset(at)
			out.event(text[offset : offset+len(name)])
		}
	}
}

const blank = "blank" // the reason of a line that is no record

// byLine returns a format of lines. find returns a reason if there is no key.
func byLine(find func(line []byte) (key []byte, reason string)) format {
	return func(file *bufio.Reader, out *reader) error {
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 16<<20) // a longer line ends the reading
		for number := 1; lines.Scan() && lines.Err() == nil; number++ {
			key, reason := find(lines.Bytes())
			if reason == "" {
				out.event(key)
			} else if reason != blank {
				out.badRecord(number, reason)
			}
		}
		return lines.Err()
	}
}

func newMatch(expression string) (format, error) {
	pattern, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("-key: %w", err)
	}
	if pattern.NumSubexp() == 0 {
		return nil, fmt.Errorf("-key %q has no group: put the key in parentheses", expression)
	}
	group := max(1, pattern.SubexpIndex("key"))
	return byLine(func(line []byte) ([]byte, string) {
		if match := pattern.FindSubmatchIndex(line); match != nil && match[2*group] >= 0 {
			return line[match[2*group]:match[2*group+1]], ""
		}
		return nil, "the -key pattern does not match"
	}), nil
}

// findJSON keeps numbers as they are written: 1.0 and 1 are two keys.
func findJSON(line []byte, path string) (key []byte, reason string) {
	found := gjson.GetBytes(line, path)
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return nil, blank
	case !gjson.ValidBytes(line):
		return nil, "not valid JSON"
	case found.Type == gjson.String:
		return []byte(found.Str), ""
	case found.Type == gjson.Number, found.IsBool():
		return []byte(found.Raw), ""
	}
	return nil, fmt.Sprintf("no string, number or boolean at %q", path)
}
