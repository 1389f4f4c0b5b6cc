//go:build !countwrites

package shared

import (
	"sync"
	"sync/atomic"
)

// These types of a usual build are aliases. K has no effect.
type (
	Uint64[K Kind] = atomic.Uint64
	Uint32[K Kind] = atomic.Uint32
	Int64[K Kind]  = atomic.Int64
	Int32[K Kind]  = atomic.Int32
	Bool[K Kind]   = atomic.Bool
	Mutex[K Kind]  = sync.Mutex
)

// Passed counts that a token was sent or received.
func Passed[K Kind](chan struct{}) {}
