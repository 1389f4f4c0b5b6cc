package items

import (
	"reflect"
	"unsafe"

	"github.com/shardq/shardq/internal/chunked"
)

// A Key points to an item that a table is to find or to insert. The table reads
// it during the call only, so the item may be on the stack.
type Key unsafe.Pointer

func KeyOf[T comparable](item *T) Key { return Key(item) }

// Keys are those of the items of a slice.
type Keys struct {
	first unsafe.Pointer
	size  uintptr
}

func KeysOf[T comparable](items []T) Keys {
	return Keys{unsafe.Pointer(unsafe.SliceData(items)), unsafe.Sizeof(*new(T))}
}

func (k Keys) At(i int) Key { return Key(unsafe.Add(k.first, uintptr(i)*k.size)) }

// A Type is what a table knows of its items.
type Type struct {
	MayDiffer bool      // some items are not equal to themselves
	Strings   []uintptr // the offsets of the strings within an item

	cells *chunked.Kind
	text  bool           // they are strings
	word  bool           // they are integers of 64 bits
	clear func(e *Entry) // nil if they have no pointers
	Any   func(e *Entry) any
	equal func(e *Entry, key Key) bool
	set   func(e *Entry, key Key)
}

func TypeOf[T comparable]() *Type {
	return newType((*T)(nil), Type{
		cells: chunked.KindOf[cell[T]](),
		clear: func(e *Entry) { *Of[T](e) = *new(T) },
		Any:   func(e *Entry) any { return *Of[T](e) },
		equal: func(e *Entry, key Key) bool { return *Of[T](e) == *(*T)(key) },
		set:   func(e *Entry, key Key) { *Of[T](e) = *(*T)(key) },
	})
}

// newType gets a pointer to an item. If code with a type parameter has a
// reflect.Type, the compiler compiles its iterators for each type of items.
func newType(item any, t Type) *Type {
	of := reflect.TypeOf(item).Elem()
	kind := of.Kind()
	t.text, t.word = kind == reflect.String, reflect.Int <= kind && kind <= reflect.Uintptr && of.Size() == 8
	t.MayDiffer, t.Strings = mayDiffer(of), appendStrings(nil, of, 0)
	if !hasPointers(of) {
		t.clear = nil
	}
	return &t
}

// The usual keys are compared and stored without a call.

func (t *Type) has(e *Entry, key Key) bool {
	switch {
	case t.text:
		return *Of[string](e) == *(*string)(key)
	case t.word:
		return *Of[uint64](e) == *(*uint64)(key)
	}
	return t.equal(e, unseen(key))
}

func (t *Type) put(e *Entry, key Key) {
	switch {
	case t.text:
		*Of[string](e) = *(*string)(key)
	case t.word:
		*Of[uint64](e) = *(*uint64)(key)
	default:
		t.set(e, unseen(key))
	}
}

// unseen hides a key from the compiler. It does not know which function is
// called with it, and would allocate each item, in case the function keeps its
// address. Stacks move only at calls, and none comes between the two lines: with
// -race, checkptr would call a function there.
//
//go:nocheckptr
func unseen(key Key) Key {
	address := uintptr(key)
	return *(*Key)(unsafe.Pointer(&address))
}

func hasPointers(t reflect.Type) bool {
	switch kind := t.Kind(); kind {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return kind > reflect.Complex128
	}
}

// mayDiffer reports whether any value of t is not equal to itself, as NaN is. The
// queue would accept it, and never find it again.
func mayDiffer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return true
	case reflect.Array:
		return mayDiffer(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if mayDiffer(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

func appendStrings(offsets []uintptr, t reflect.Type, base uintptr) []uintptr {
	switch t.Kind() {
	case reflect.String:
		offsets = append(offsets, base)
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			offsets = appendStrings(offsets, field.Type, base+field.Offset)
		}
	}
	return offsets
}
