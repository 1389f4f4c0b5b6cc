package shard

import (
	"reflect"
	"unsafe"
)

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

// prefetch reads the first byte of every string in the items of a batch, which
// are about to be hashed. Usually the bytes are in no cache. The loop is so
// short that the processor has several reads in flight at once, while a hash
// waits for each in turn.
func (s *Set[T]) prefetch(items []T) (sum byte) {
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

// prefetchSlots reads the slots at which the look-ups of the current bucket
// begin, for the same reason.
func (sh *shard[T]) prefetchSlots(p *partition) {
	if sh.table == nil {
		return
	}
	sum := uint32(0)
	for place := p.current.first; place != 0; place = p.behind[place-1] {
		sum += sh.table.first(p.hashes[place-1])
	}
	p.prefetched += byte(sum)
}

// prefetchClaimed reads the entries that the handles of the current bucket
// name, and then their slots.
func (sh *shard[T]) prefetchClaimed(p *partition, handles []Handle) {
	sum := uint32(0)
	for place := p.current.first; place != 0; place = p.behind[place-1] {
		if e := sh.claimed(handles[place-1]); e != nil {
			sum += sh.table.first(e.hash)
		}
	}
	p.prefetched += byte(sum)
}

// prefetchTimer reads the timer of an item that is likely to be delayed, before
// the look-up reads the entry. The processor then fetches both at once.
func (sh *shard[T]) prefetchTimer(hash uint32) {
	if sh.table != nil {
		sh.wheel.prefetched, _ = sh.wheel.Deadline(sh.table.first(hash))
	}
}
