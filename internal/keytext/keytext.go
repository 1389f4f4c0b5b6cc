// Package keytext writes items as short texts, for a log or a page. An item may be anything: huge, of
// methods that panic, or a pointer to what its worker is about to change.
package keytext

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// mostElements is how many elements of an array are written, and how many parts of the whole item are gone through
// when its beginning is there.
const mostElements = 64

// A Text is an item as %v has it, or its beginning.
type Text struct {
	// Beginning is all of it, or as much as was asked for, cut between two runes.
	Beginning string
	// Length is how long all of it is, in bytes, as far as it was written: of an array, the first elements
	// and how many more there are; and likewise of all that has many parts.
	Length int
}

// IsCut reports whether there is more than the beginning.
func (t Text) IsCut() bool { return t.Length > len(t.Beginning) }

// String returns the beginning, with an ellipsis if there is more.
func (t Text) String() string {
	if t.IsCut() {
		return t.Beginning + "…"
	}
	return t.Beginning
}

// Of returns an item as a text of so many bytes at most, or that its String method panicked. It
// follows no pointer, unless that method does, for what it leads to may be changed meanwhile. A long
// string costs no more than a short one.
func Of(item any, most int) (text Text) {
	defer func() {
		if recover() != nil {
			const panicked = "(its String method panicked)"
			text = Text{panicked, len(panicked)}
		}
	}()
	w := writer{most: most, left: mostElements}
	w.write(reflect.ValueOf(item))
	return w.text()
}

// A writer keeps the beginning of what is written, and how long all of it is.
type writer struct {
	kept   strings.Builder
	length int
	most   int
	// left is how many parts may be gone through yet of which nothing is kept.
	left int
}

// add writes a text. One byte more than there may be tells whether the last rune is whole.
func (w *writer) add(text string) {
	if room := w.most + 1 - w.kept.Len(); room > 0 {
		w.kept.WriteString(text[:min(len(text), room)])
	}
	w.length += len(text)
}

func (w *writer) write(v reflect.Value) {
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
		w.add("{")
		w.writeParts(v.NumField(), v.NumField(), v.Field)
		w.add("}")
	case reflect.Array:
		w.add("[")
		w.writeParts(v.Len(), mostElements, v.Index)
		w.add("]")
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		w.add(fmt.Sprintf("(%s)(%#x)", v.Type(), v.Pointer()))
	default: // booleans and numbers
		w.add(fmt.Sprint(v))
	}
}

// writeParts writes at most so many of the n parts of an item, and how many more there are.
func (w *writer) writeParts(n, most int, part func(int) reflect.Value) {
	for i := range n {
		if i == most || !w.goesOn() {
			w.add(fmt.Sprintf(" … %d more", n-i))
			return
		}
		if i > 0 {
			w.add(" ")
		}
		w.write(part(i))
	}
}

// goesOn reports whether another part may be gone through, so that an array of arrays costs no more than one.
func (w *writer) goesOn() bool {
	if w.kept.Len() <= w.most {
		return true
	}
	w.left--
	return w.left >= 0
}

// text returns what was written, cut between two runes. What is not UTF-8 is cut anywhere.
func (w *writer) text() Text {
	text := w.kept.String()
	if w.length <= w.most {
		return Text{text, w.length}
	}
	for back := range utf8.UTFMax {
		if end := w.most - back; end >= 0 && utf8.RuneStart(text[end]) {
			return Text{text[:end], w.length}
		}
	}
	return Text{text[:w.most], w.length}
}
