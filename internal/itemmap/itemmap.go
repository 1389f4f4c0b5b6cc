// Package itemmap makes concurrent maps whose keys are items of any type.
package itemmap

import (
	"hash/maphash"

	"github.com/puzpuzpuz/xsync/v3"
)

// New returns an empty map. Its hash is secret, so that callers cannot choose
// items that collide. xsync's own hash cannot serve: for an interface that holds
// a pointer it reads the pointer's target, and it crashes on a nil interface.
func New[T comparable, V any]() *xsync.MapOf[T, V] {
	seed := maphash.MakeSeed()
	return xsync.NewMapOfWithHasher[T, V](func(item T, _ uint64) uint64 { return maphash.Comparable(seed, item) })
}
