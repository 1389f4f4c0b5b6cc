package main

import (
	"bufio"
	"go/scanner"
	"go/token"
	"io"
	"path/filepath"
)

// A format reads a file, and returns an error if it does not reach the end.
type format func(file *bufio.Reader, out *reader) error

var formats = map[string]format{"go": readGo, "lines": readLines}

func formatOf(path string) string {
	if filepath.Ext(path) == ".go" {
		return "go"
	}
	return "lines"
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

func readLines(file *bufio.Reader, out *reader) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20) // a longer line ends the reading
	lines.Split(func(data []byte, atEnd bool) (advance int, line []byte, err error) {
		advance, line, err = bufio.ScanLines(data, atEnd)
		out.At += int64(advance)
		return advance, line, err
	})
	for lines.Scan() && lines.Err() == nil {
		out.event(lines.Bytes())
		if out.Offset%1024 == 0 {
			out.mark()
		}
	}
	return lines.Err()
}
