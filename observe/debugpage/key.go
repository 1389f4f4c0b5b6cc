package debugpage

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxKeyBytes is how much of a key is shown.
	maxKeyBytes = 200
	// maxElements is how many elements of an array are.
	maxElements = 64
)

// A shownKey is a key as it is shown: short, printable, and on one line.
type shownKey struct {
	text string
	// length is how long the key is in bytes, if text is not all of it; otherwise 0.
	length int
}

// showItem returns an item as it is shown. An item may have a String method of its user's,
// which may panic.
func showItem(item any) (shown shownKey) {
	defer func() {
		if recover() != nil {
			shown = shownKey{text: "(its String method panicked)"}
		}
	}()
	w := keyWriter{}
	w.write(reflect.ValueOf(item))
	return w.shown()
}

// showText returns a text as it is shown.
func showText(text string) shownKey {
	w := keyWriter{}
	w.add(text)
	return w.shown()
}

// redact returns what a user's function says, or that it panicked.
func redact(with func() string) (shown shownKey) {
	defer func() {
		if recover() != nil {
			shown = shownKey{text: "(redacting it panicked)"}
		}
	}()
	return showText(with())
}

// A keyWriter keeps the beginning of what is written, and how long all of it is. So a huge key
// costs no more than a small one.
type keyWriter struct {
	kept   strings.Builder
	length int
}

// add writes a text.
func (w *keyWriter) add(text string) {
	if room := maxKeyBytes + utf8.UTFMax - w.kept.Len(); w.length == w.kept.Len() && room > 0 {
		w.kept.WriteString(text[:min(len(text), room)])
	}
	w.length += len(text)
}

// write writes a value as %v does, but follows no pointer: what that leads to may change
// meanwhile.
func (w *keyWriter) write(v reflect.Value) {
	if v.IsValid() && v.CanInterface() {
		if stringer, ok := v.Interface().(fmt.Stringer); ok {
			w.add(stringer.String())
			return
		}
	}
	switch v.Kind() {
	case reflect.Invalid:
		w.add("<nil>")
	case reflect.String:
		w.add(v.String())
	case reflect.Interface:
		w.write(v.Elem())
	case reflect.Struct:
		w.writeAll('{', v.NumField(), v.Field, '}')
	case reflect.Array:
		w.writeAll('[', v.Len(), v.Index, ']')
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		w.add(fmt.Sprintf("(%s)(%#x)", v.Type(), v.Pointer()))
	default: // booleans and numbers
		w.add(fmt.Sprint(v))
	}
}

func (w *keyWriter) writeAll(opening byte, n int, part func(int) reflect.Value, closing byte) {
	w.add(string(opening))
	for i := range min(n, maxElements) {
		if i > 0 {
			w.add(" ")
		}
		w.write(part(i))
	}
	if n > maxElements {
		w.add(" … " + formatCount(n-maxElements) + " more")
	}
	w.add(string(closing))
}

// shown returns what was written: cut between two runes, and quoted where it would not be seen
// for what it is, with control characters, those that change the direction of the text, or
// invalid UTF-8.
func (w *keyWriter) shown() shownKey {
	text, length := w.kept.String(), 0
	if w.length > maxKeyBytes {
		text, length = cut(text), w.length
	}
	if deceptive(text) {
		text = strconv.Quote(text)
	}
	return shownKey{text, length}
}

// cut returns the beginning of a text that is longer than a key may be. What is not UTF-8 is
// cut anywhere.
func cut(text string) string {
	end := maxKeyBytes
	for back := range utf8.UTFMax {
		if utf8.RuneStart(text[end-back]) {
			return text[:end-back]
		}
	}
	return text[:end]
}

// deceptive reports whether a text needs quotes: it is empty, begins with a quote or a space, ends with
// a space, or has something in it that is not printable.
func deceptive(text string) bool {
	if text == "" || text[0] == '"' || text[0] == ' ' || text[len(text)-1] == ' ' || !utf8.ValidString(text) {
		return true
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return true
		}
	}
	return false
}

// inWords returns the text, and its length if it is cut.
func (k shownKey) inWords() string {
	if k.length == 0 {
		return k.text
	}
	return k.text + "… (" + formatCount(k.length) + " bytes)"
}
