package items

import (
	"cmp"
	"reflect"
	"time"
	"unsafe"

	"github.com/shardq/shardq/internal/chunked"
)

// A Key points to an item that a table is to find or to insert. The table reads
// it during the call only, so the item may be on the stack.
type Key unsafe.Pointer

func KeyOf[T comparable](item *T) Key { return Key(item) }

// Keys are the keys of the items of a slice.
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
	// MayDiffer says that some items may not be equal to themselves. A table never
	// finds them again.
	MayDiffer bool
	Strings   []uintptr // the offsets of the strings within an item
	Address   string    // a type within an item of which == compares addresses, or ""
	Any       func(e *Entry) any

	cells *chunked.Kind
	text  bool           // they are strings
	word  bool           // they are integers of 64 bits
	clear func(e *Entry) // nil if they have no pointers
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

// newType gets a pointer to an item. TypeOf must not have its reflect.Type, nor
// must a method of Type: the compiler would compile the iterators of reflect.Type
// for each type of items.
func newType(item any, t Type) *Type {
	of := reflect.TypeOf(item).Elem()
	kind := of.Kind()
	t.text, t.word = kind == reflect.String, reflect.Int <= kind && kind <= reflect.Uintptr && of.Size() == 8
	if !learn(&t, of, 0) {
		t.clear = nil
	}
	return &t
}

// learn looks at a part of the items, and reports whether it has pointers.
func learn(t *Type, part reflect.Type, offset uintptr) (pointers bool) {
	switch part.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		t.MayDiffer = true // NaN is not equal to itself
		return false
	case reflect.Array:
		strings := t.Strings
		pointers = part.Len() > 0 && learn(t, part.Elem(), offset)
		t.Strings = strings // there may be many
		return pointers
	case reflect.Struct:
		address := t.Address
		for i := range part.NumField() {
			field := part.Field(i)
			pointers = learn(t, field.Type, offset+field.Offset) || pointers
		}
		switch {
		case part.PkgPath() == "unique": // equal contents have one address
			t.Address = address
		case part == reflect.TypeFor[time.Time](): // of its location
			t.Address = cmp.Or(address, part.String())
		}
		return pointers
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		t.Address = cmp.Or(t.Address, part.String())
	case reflect.String:
		t.Strings = append(t.Strings, offset)
	case reflect.Interface:
		t.MayDiffer = true // it may have a NaN
	}
	return part.Kind() > reflect.Complex128
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

// unseen hides a key from escape analysis, which would allocate each item in case
// equal or set keeps its address. Stacks move only at calls, and none comes between
// the two lines, because nocheckptr keeps -race from adding one.
//
//go:nocheckptr
func unseen(key Key) Key {
	address := uintptr(key)
	return *(*Key)(unsafe.Pointer(&address))
}
