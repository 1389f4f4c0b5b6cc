package main

import (
	"errors"
	"go/scanner"
	"go/token"
	"math"
)

// goFormat reads Go source: each identifier is an event. A file is one record.
type goFormat struct{}

func newGoFormat(key string) (format, error) {
	if key != "" {
		return nil, errors.New("-key has no meaning with -format go: the identifiers are the keys")
	}
	return goFormat{}, nil
}

func (goFormat) cut([]byte) int                 { return 0 }
func (goFormat) resync([]byte) int              { return math.MaxInt }
func (goFormat) hasHeader() bool                { return false }
func (f goFormat) start(*piece) (parser, error) { return f, nil }

// parse counts the identifiers also of a file with lexical errors, which some
// of the Go compiler's test data has on purpose. Each error is a malformed
// record.
func (goFormat) parse(piece piece, out recorder) {
	source := token.NewFileSet().AddFile(piece.file, -1, len(piece.data))
	goOn := true
	complain := func(at token.Position, reason string) {
		// The physical line: at.Line follows //line comments.
		line := source.PositionFor(source.Pos(at.Offset), false).Line
		goOn = goOn && out.malformed(malformed{piece.file, line, reason})
	}
	var tokens scanner.Scanner
	tokens.Init(source, piece.data, complain, 0)
	for goOn {
		at, kind, text := tokens.Scan()
		switch kind {
		case token.EOF:
			return
		case token.IDENT:
			offset := source.Offset(at)
			out.event(piece.data[offset : offset+len(text)])
		}
	}
}
