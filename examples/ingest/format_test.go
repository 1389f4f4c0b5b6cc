package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// recording is a recorder that keeps everything.
type recording struct {
	keys []string
	bad  []string
}

func (r *recording) event(key []byte) { r.keys = append(r.keys, string(key)) }

func (r *recording) malformed(bad malformed) bool {
	r.bad = append(r.bad, bad.Error())
	return true
}

// read parses all of source with the format.
func (r *recording) read(t *testing.T, format format, source io.Reader) {
	t.Helper()
	var parser parser
	for piece, err := range split(file{name: "in"}, source, format) {
		if bad := (malformed{}); errors.As(err, &bad) {
			r.malformed(bad)
			continue
		}
		require.NoError(t, err)
		if parser == nil {
			parser, err = format.start(&piece)
			require.NoError(t, err)
		}
		parser.parse(piece, r)
	}
}

func TestFormatsFindKeysAndMalformedRecords(t *testing.T) {
	for _, c := range []struct {
		name, format, key, text string
		keys, bad               []string
	}{
		{
			name: "go identifiers, without keywords, literals and comments", format: "go",
			text: "package p // q\nvar x, ä = `y`, 'z' /* w */ + 0x1F\n",
			keys: []string{"p", "x", "ä"},
		},
		{
			name: "go with lexical errors, named by their physical lines", format: "go",
			text: "package p\n//line other.go:100\nvar a = 'xx'\nvar b ☹ = \"open\n",
			keys: []string{"p", "a", "b"},
			bad:  []string{"in:3: illegal rune literal", "in:4: illegal character U+2639 '☹'", "in:4: string literal not terminated"},
		},
		{name: "go, empty", format: "go"},
		{
			name: "whole lines", format: "lines",
			text: "one\ntwo\r\n\n\x00\xff\none",
			keys: []string{"one", "two", "", "\x00\xff", "one"},
		},
		{
			name: "byte order mark", format: "lines", text: "\ufeffone\n\ufefftwo\n",
			keys: []string{"one", "\ufefftwo"},
		},
		{name: "nothing but a part of a byte order mark", format: "lines", text: "\xef\xbb", keys: []string{"\xef\xbb"}},
		{
			name: "first match of a group", format: "lines", key: `user=(\w+)`,
			text: "user=ann user=bob\nnobody\nuser=cid\n",
			keys: []string{"ann", "cid"}, bad: []string{"in:2: the -key pattern does not match"},
		},
		{
			name: "named group", format: "lines", key: `(GET|PUT) (?P<key>\S+)`, text: "PUT /a\n",
			keys: []string{"/a"},
		},
		{
			name: "group that took no part", format: "lines", key: `a|b(.)`, text: "a\nbx\n",
			keys: []string{"x"}, bad: []string{"in:1: the -key pattern does not match"},
		},
		{
			name: "json of every kind", format: "ndjson", key: "u.id",
			text: `{"u":{"id":"ann\n"}}` + "\n" + `{"u":{"id":1.50}}` + "\n \r\n" + `{"u":{"id":true}}` + "\n" +
				`{"u":{"id":null}}` + "\n" + `{"u":{"id":{}}}` + "\n" + `{"u":3}` + "\n" + `{"u":{"id":"x"}` + "\n" + `{"u":{"id":""}}`,
			keys: []string{"ann\n", "1.50", "true", ""},
			bad: []string{
				`in:5: what is at "u.id" is no string, number or boolean`,
				`in:6: what is at "u.id" is no string, number or boolean`,
				`in:7: nothing at "u.id"`,
				`in:8: not valid JSON`,
			},
		},
		{
			name: "json nested too deep", format: "ndjson", key: "a",
			text: strings.Repeat("[", 1<<20) + "\n" + `{"a":1}`,
			keys: []string{"1"}, bad: []string{"in:1: not valid JSON"},
		},
		{name: "csv, first column", format: "csv", text: "a,b\n\"c,\"\"d\",e\r\n\n,f\n", keys: []string{"a", `c,"d`, ""}},
		{
			name: "csv, column by number, with lines of their own lengths", format: "csv", key: "2",
			text: "a,b\nc\nd,\"e\nf\",g\nh,i", keys: []string{"b", "e\nf", "i"},
			bad: []string{"in:2: the key is in column 2, and there are 1"},
		},
		{
			name: "csv, column by name", format: "csv", key: "na,me",
			text: "\ufeff\"n\n\",\"na,me\"\n1,ann\n2\n3,bob\n", keys: []string{"ann", "bob"},
			bad: []string{"in:4: wrong number of fields"},
		},
		{
			name: "csv with misplaced quotes", format: "csv",
			text: "a\nb\"\",\"c\nd\n\"e\"f,\"\ng\n\"h\ni",
			keys: []string{"a", "d", "g"},
			bad: []string{
				`in:2: bare " in non-quoted-field`,
				`in:4: extraneous or missing " in quoted-field`,
				"in:6: the file ends inside a quoted field of the record that begins here",
			},
		},
		{
			name: "csv that ends in a quoted field", format: "csv", text: "a\n\n\"b,c\nd\n", keys: []string{"a"},
			bad: []string{"in:3: the file ends inside a quoted field of the record that begins here"},
		},
		{
			name: "csv that ends behind a misplaced quote", format: "csv", text: "a\n\"b\"c", keys: []string{"a"},
			bad: []string{`in:2: extraneous or missing " in quoted-field`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			format, err := newFormat(c.format, c.key)
			require.NoError(t, err)
			for way, source := range map[string]io.Reader{
				"whole":         strings.NewReader(c.text),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(c.text)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(c.text)),
			} {
				if len(c.text) > 1<<16 && way == "byte by byte" {
					continue
				}
				var found recording
				found.read(t, format, source)
				require.Equal(t, c.keys, found.keys, way)
				require.Equal(t, c.bad, found.bad, way)
			}
		})
	}
}

func TestKeysThatAFormatRejects(t *testing.T) {
	for _, c := range []struct{ format, key, want string }{
		{"go", "x", "-key has no meaning with -format go"},
		{"ndjson", "", "-format ndjson needs a -key"},
		{"lines", "(", "-key: error parsing regexp"},
		{"lines", "x", "has 0 groups"},
		{"lines", "(x)(y)", "has 2 groups"},
		{"csv", "0", "CSV columns are numbered from 1"},
		{"csv", "-1", "CSV columns are numbered from 1"},
	} {
		_, err := newFormat(c.format, c.key)
		require.ErrorContains(t, err, c.want, "%s %s", c.format, c.key)
	}
}

func TestCSVWithoutTheColumn(t *testing.T) {
	format, err := newFormat(formatCSV, "name")
	require.NoError(t, err)
	for text, want := range map[string]string{
		"a,b\n1,2\n": `in:1: no column is named "name"; there are ["a" "b"]`,
		"a\",b\n":    "in:1: no header: parse error",
		"\n\n":       "in:1: no header: EOF",
	} {
		_, err := format.start(&piece{file: "in", line: 1, data: []byte(text)})
		require.ErrorContains(t, err, want)
	}
}

// FuzzCSVIsCutAsItIsRead compares csvFormat.cut with the standard library's
// reader: wherever a file is cut into pieces, it has the same records.
func FuzzCSVIsCutAsItIsRead(f *testing.F) {
	for _, text := range []string{
		"a,b\nc,d\n", "\"a\nb\",c\nd\n", "a\"b,\"c\nd\n", "\"a\"\"\nb\",\n\"\"\n", "\"a\"b\n\"c\n", "\"a\"\r\n\r\n,\r,\"\r\n\"\n", "\"\",\"\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var whole, pieces recording
		csvParser{fields: -1}.parse(piece{file: "in", line: 1, data: bytes.Clone(text)}, &whole)
		pieces.read(t, csvFormat{}, &oneRecordReader{rest: bytes.Clone(text)})
		// Only split drops the mark.
		if !bytes.HasPrefix(text, byteOrderMark) {
			require.Equal(t, whole, pieces)
		}
	})
}

// oneRecordReader reads a byte at a time, so that a piece ends wherever it can.
type oneRecordReader struct{ rest []byte }

func (r *oneRecordReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	p[0], r.rest = r.rest[0], r.rest[1:]
	return 1, nil
}

func TestCSVRecordLength(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 0, "\n": 1, "a\nb\n": 2, "a,\"b\nc\"\nd": 8, "\"a\"": 0, "\"a\"\"\n\"\n": 7,
		"a\",\"b\nc": 6, "\"a\"b,\"\nc": 7, "\"": 0, "a,": 0, "a,\"b\"": 0,
	} {
		require.Equal(t, want, csvRecordLength([]byte(text)), "%q", text)
	}
}

func TestRecordThatIsTooLong(t *testing.T) {
	for format, around := range map[string][2]string{
		formatLines: {"", ""},
		formatCSV:   {"\"", "\n\",\"\n"}, // goes on after the first newline, inside the quotes
	} {
		t.Run(format, func(t *testing.T) {
			parts := []io.Reader{
				strings.NewReader("first\n" + around[0]),
				io.LimitReader(letters{}, maxRecord+1),
				strings.NewReader("\nlast\n"),
			}
			var found recording
			kind, err := newFormat(format, "")
			require.NoError(t, err)
			found.read(t, kind, io.MultiReader(parts...))
			require.Equal(t, []string{"first", "last"}, found.keys)
			require.Equal(t, []string{"in:2: a record of more than 16 MiB"}, found.bad)
		})
	}
	t.Run("a Go file", func(t *testing.T) {
		var found recording
		found.read(t, goFormat{}, io.LimitReader(letters{}, 2*maxRecord))
		require.Equal(t, []string{"in:1: a record of more than 16 MiB"}, found.bad)
		require.Empty(t, found.keys)
	})
}

// letters is an endless text without a newline.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestSplitReportsWhereAFileBreaksOff(t *testing.T) {
	source := io.MultiReader(strings.NewReader("one\ntwo\nthr"), iotest.ErrReader(errors.New("no such luck")))
	var kept []string
	var last error
	for piece, err := range split(file{name: "in"}, source, linesFormat{}) {
		kept, last = append(kept, string(piece.data)), err
	}
	require.Equal(t, []string{"one\ntwo\n", ""}, kept)
	require.EqualError(t, last, "in:3: the rest cannot be read: no such luck")
}

func TestSplitYieldsPartialReads(t *testing.T) {
	source, sink := io.Pipe()
	lines := make(chan string)
	go func() {
		for piece := range split(file{name: "in"}, source, linesFormat{}) {
			lines <- string(piece.data)
		}
	}()
	for _, line := range []string{"one\n", "two\n"} {
		_, err := sink.Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, line, <-lines)
	}
	require.NoError(t, sink.Close())
}
