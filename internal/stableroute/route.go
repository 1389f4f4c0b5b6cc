// Package stableroute hashes items to routes that are the same in every process and on
// every machine.
package stableroute

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Of returns a route that is the same in every process and on every
// machine, or an error that names every part without a stable value.
func Of[T comparable]() (func(item T) uint64, error) {
	parts, err := partsOf((*T)(nil))
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 && parts[0].kind == stringPart {
		offset := parts[0].offset // blank fields may stand before it
		return func(item T) uint64 {
			return xxhash.Sum64String(*(*string)(unsafe.Add(unsafe.Pointer(&item), offset)))
		}, nil
	}
	return func(item T) uint64 { return sum(unsafe.Pointer(&item), parts) }, nil
}

type part struct {
	offset uintptr
	kind   partKind
}

// A partKind is the size of a number in bytes, stringPart or intPart.
type partKind uint8

const stringPart partKind = 0

// partsOf gets a pointer to an item, so that no code with a type parameter has a
// reflect.Type: see items.Type.
func partsOf(item any) ([]part, error) {
	t := reflect.TypeOf(item).Elem()
	return layOut(nil, t, t.String(), 0)
}

func layOut(parts []part, t reflect.Type, path string, offset uintptr) ([]part, error) {
	switch t.Kind() {
	case reflect.String:
		return append(parts, part{offset, stringPart}), nil
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint, reflect.Uintptr:
		return append(parts, part{offset, partKind(t.Size())}), nil
	case reflect.Int:
		return append(parts, part{offset, intPart}), nil
	case reflect.Array:
		var err error
		for i := range t.Len() {
			element := fmt.Sprintf("%s[%d]", path, i)
			if parts, err = layOut(parts, t.Elem(), element, offset+uintptr(i)*t.Elem().Size()); err != nil {
				break // all elements have the same fault
			}
		}
		return parts, err
	case reflect.Struct:
		return layOutStruct(parts, t, path, offset)
	default:
		return parts, fmt.Errorf("%s is of type %s, which has no stable value", path, t)
	}
}

// intPart is an int. Its hash must not depend on its size on the machine: it is
// extended with its sign, and the other kinds, uint too, with zeros.
const intPart partKind = 255

func layOutStruct(parts []part, t reflect.Type, path string, offset uintptr) ([]part, error) {
	var faults []error
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Name == "_" {
			continue // == does not look at it either
		}
		var err error
		if parts, err = layOut(parts, field.Type, path+"."+field.Name, offset+field.Offset); err != nil {
			faults = append(faults, err)
		}
	}
	return parts, errors.Join(faults...)
}

// sum hashes the length of a string before the string, so that no two items
// give the same bytes. Numbers are little-endian, of 64 bits, on all machines.
func sum(p unsafe.Pointer, parts []part) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	var number [8]byte
	for _, part := range parts {
		field := unsafe.Add(p, part.offset)
		binary.LittleEndian.PutUint64(number[:], readNumber(field, part.kind))
		digest.Write(number[:])
		if part.kind == stringPart {
			digest.WriteString(*(*string)(field))
		}
	}
	return digest.Sum64()
}

func readNumber(p unsafe.Pointer, kind partKind) uint64 {
	switch kind {
	case stringPart:
		return uint64(len(*(*string)(p)))
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	case 8:
		return *(*uint64)(p)
	default: // intPart
		return uint64(*(*int)(p))
	}
}
