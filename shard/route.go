package shard

import (
	"hash/maphash"
	"math/bits"
	"reflect"
)

// hash returns the seeded hash of item, which nobody outside the process can
// predict: keys cannot be chosen to collide. Its low half finds the item within its
// shard, its high half finds the shard.
//
// It panics, in the caller's goroutine and before anything is locked or changed, if
// item holds a dynamic value that cannot be hashed, such as a slice in an any.
func (s *Set[T]) hash(item T) uint64 { return maphash.Comparable(s.seed, item) }

// shardOf returns the shard of an item. With a route function of the user's, the
// shard follows from that alone, but the look-ups within it still use the seeded
// hash: a poor route makes shards uneven, never slow.
func (s *Set[T]) shardOf(item T, hash uint64) *shard[T] {
	if s.route != nil {
		return s.shardAt(s.route(item))
	}
	number, _ := bits.Mul32(uint32(hash>>32), uint32(len(s.shards)))
	return s.shard(int(number))
}

// shardAt returns the shard for what a route function says.
func (s *Set[T]) shardAt(route uint64) *shard[T] {
	// Spread what may be small numbers: Fibonacci hashing (Knuth, The Art of
	// Computer Programming, volume 3, 6.4).
	hash := route * 0x9e3779b97f4a7c15
	number, _ := bits.Mul32(uint32(hash>>32), uint32(len(s.shards)))
	return s.shard(int(number))
}

// mayDiffer reports whether any value of T is not equal to itself, as NaN is: the
// queue could take it in, and then never find it again. For most types none is, and
// then no operation spends time on the question.
func mayDiffer[T comparable]() bool { return typeMayDiffer(reflect.TypeFor[T]()) }

func typeMayDiffer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128, reflect.Interface:
		return true
	case reflect.Array:
		return typeMayDiffer(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if typeMayDiffer(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}
