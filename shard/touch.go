package shard

import (
	"reflect"
	"unsafe"
)

// stringsOf returns where the strings within a T lie, as offsets.
func stringsOf[T comparable]() []uintptr { return appendStrings(nil, reflect.TypeFor[T](), 0) }

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

// touch reads the first byte of every string in the items of a batch, which are about to
// be hashed. As a rule the bytes are in no cache; the loop is so short that the processor
// has several of the reads under way at once, where a hash waits for each in turn. A
// batch of 64 strings out of 64k takes a fifth less time for it, and a third less with
// one shard.
func (s *Set[T]) touch(items []T) (sum byte) {
	for _, offset := range s.strings {
		for i := range items {
			text := *(*string)(unsafe.Add(unsafe.Pointer(&items[i]), offset))
			if len(text) > 0 {
				sum += text[0]
			}
		}
	}
	return sum
}
