package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
)

// ndjsonFormat reads one JSON value in each line. Each is an event, whose key
// is the string, number or boolean at the path.
type ndjsonFormat struct {
	byLine
	path string
}

func newNDJSONFormat(key string) (format, error) {
	if key == "" {
		return nil, errors.New("-format ndjson needs a -key: the path of the key in each value, such as user.name")
	}
	return ndjsonFormat{path: key}, nil
}

func (f ndjsonFormat) start(*piece) (parser, error) { return f, nil }

func (f ndjsonFormat) parse(piece piece, out recorder) {
	var key []byte
	for number, line := range lines(piece) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var reason string
		if key, reason = f.find(key[:0], line); reason == "" {
			out.event(key)
		} else if !out.malformed(malformed{piece.file, number, reason}) {
			return
		}
	}
}

// find appends the key of the line to buffer and returns it, or returns the
// reason why there is none. It keeps numbers as they are written: 1.0 and 1 are
// two keys.
func (f ndjsonFormat) find(buffer, line []byte) (key []byte, reason string) {
	if !json.Valid(line) { // gjson accepts invalid JSON
		return buffer, "not valid JSON"
	}
	found := gjson.GetBytes(line, f.path)
	switch {
	case !found.Exists():
		return buffer, fmt.Sprintf("nothing at %q", f.path)
	case found.Type == gjson.String:
		return append(buffer, found.Str...), ""
	case found.Type == gjson.Number, found.IsBool():
		return append(buffer, found.Raw...), ""
	}
	return buffer, fmt.Sprintf("what is at %q is no string, number or boolean", f.path)
}
