package shard

import "unsafe"

// over returns a value in memory in which every byte was filled before,
// including padding and blank fields. T must not have pointers in fields that
// are not set again.
func over[T any](fill byte) *T {
	memory := new(T)
	for i := range unsafe.Sizeof(*memory) {
		*(*byte)(unsafe.Add(unsafe.Pointer(memory), i)) = fill
	}
	return memory
}
