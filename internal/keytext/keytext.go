// Package keytext formats items as short texts, for a log or a page. An item may
// be huge, have methods that panic, or point to memory that its worker changes.
package keytext

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

const maxElements = 64 // of an array, and parts to visit once the beginning is complete

// A Text is the %v format of an item, or its beginning.
type Text struct {
	Beginning string // the text, or as much as the caller asked for, cut between two runes
	Length    int    // of the whole text in bytes
}

func (t Text) IsCut() bool { return t.Length > len(t.Beginning) }

func (t Text) String() string {
	if t.IsCut() {
		return t.Beginning + "…"
	}
	return t.Beginning
}

// Of formats an item in at most the given number of bytes, or says that its
// String method panics. It follows no pointer, because the target may change.
func Of(item any, most int) (text Text) {
	const panicked = "(its String method panicked)"
	defer func() {
		if recover() != nil {
			text = Text{panicked, len(panicked)}
		}
	}()
	w := writer{most: most, left: maxElements}
	w.write(reflect.ValueOf(item))
	return Text{Cut(w.kept.String(), most), w.length}
}

type writer struct {
	kept         strings.Builder
	length, most int
	left         int // parts to visit after the beginning is complete
}

// add keeps a byte more than allowed, which shows whether the last rune is
// whole.
func (w *writer) add(text string) {
	if free := w.most + 1 - w.kept.Len(); free > 0 {
		w.kept.WriteString(text[:min(len(text), free)])
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
		w.writeParts("{}", v.NumField(), v.NumField(), v.Field)
	case reflect.Array:
		w.writeParts("[]", v.Len(), maxElements, v.Index)
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		w.add(fmt.Sprintf("(%s)(%#x)", v.Type(), v.Pointer()))
	default: // booleans and numbers
		w.add(fmt.Sprint(v))
	}
}

func (w *writer) writeParts(brackets string, n, most int, part func(int) reflect.Value) {
	w.add(brackets[:1])
	for i := range n {
		if i < most && w.kept.Len() > w.most { // an array of arrays costs no more than one
			w.left--
		}
		if i == most || w.left < 0 {
			w.add(fmt.Sprintf(" … %d more", n-i))
			break
		}
		if i > 0 {
			w.add(" ")
		}
		w.write(part(i))
	}
	w.add(brackets[1:])
}

// OfError formats an error, or the value of a panic, in little more than 512 bytes.
// Package fmt recovers the panics of its methods.
func OfError(err any) string {
	text := fmt.Sprint(err)
	return Text{Cut(text, 512), len(text)}.String() // a cut text is a copy, which does not keep the rest alive
}

// Cut returns the beginning of a text of at most the given bytes, cut between
// two runes. Invalid UTF-8 is cut anywhere.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for back := range utf8.UTFMax {
		if end := most - back; end >= 0 && utf8.RuneStart(text[end]) {
			return text[:end]
		}
	}
	return text[:most]
}
