// Package keytext writes items as short texts, for a log. An item may be anything: huge, of
// methods that panic, or a pointer to what its worker is about to change.
package keytext

import (
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// mostElements is how many elements of an array are written.
const mostElements = 64

// Of returns an item as %v has it, or its beginning: so many bytes at most, cut between two
// runes, and an ellipsis. It follows no pointer, unless the item's String method does, for
// what that leads to may be changed meanwhile.
func Of(item any, most int) (text string) {
	defer func() {
		if recover() != nil {
			text = "(its String method panicked)"
		}
	}()
	w := writer{most: most}
	w.write(reflect.ValueOf(item))
	return w.text()
}

// A writer keeps the beginning of what is written.
type writer struct {
	kept strings.Builder
	most int
}

func (w *writer) add(text string) {
	if room := w.most + 1 - w.kept.Len(); room > 0 {
		w.kept.WriteString(text[:min(len(text), room)])
	}
}

func (w *writer) full() bool { return w.kept.Len() > w.most }

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
		w.writeAll("{", v.NumField(), v.Field, "}")
	case reflect.Array:
		w.writeAll("[", min(v.Len(), mostElements), v.Index, "]")
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		w.add(fmt.Sprintf("(%s)(%#x)", v.Type(), v.Pointer()))
	default: // booleans and numbers
		w.add(fmt.Sprint(v))
	}
}

func (w *writer) writeAll(opening string, n int, part func(int) reflect.Value, closing string) {
	w.add(opening)
	for i := 0; i < n && !w.full(); i++ {
		if i > 0 {
			w.add(" ")
		}
		w.write(part(i))
	}
	w.add(closing)
}

func (w *writer) text() string {
	text := w.kept.String()
	if len(text) <= w.most {
		return text
	}
	end := w.most
	for back := range utf8.UTFMax {
		if utf8.RuneStart(text[w.most-back]) {
			end = w.most - back
			break
		}
	}
	return text[:end] + "…"
}
