package shard

import (
	"hash/maphash"
	"math/bits"
	"reflect"
)

// locate returns the shard of item, and the hash that finds item within the
// shard. The hash is seeded, so that no outsider can choose keys that collide.
// The upper half of the seeded hash chooses the shard, and locate returns the
// lower half. With a user's route function, only the route chooses the shard,
// but look-ups within it still use the hash. A poor route therefore makes
// shards uneven, never slow.
//
// locate panics if item holds a dynamic value that cannot be hashed, such as a
// slice in an any. It does so in the caller's goroutine, before anything is
// locked or changed.
func (s *Set[T]) locate(item T) (sh *shard[T], hash uint32) {
	seeded := maphash.Comparable(s.seed, item)
	spread := seeded
	if s.route != nil {
		spread = spreadOut(s.route(item))
	}
	number, _ := bits.Mul32(uint32(spread>>32), uint32(len(s.shards)))
	if sh = s.shards[number].Load(); sh == nil {
		sh = s.makeShard(int(number))
	}
	return sh, uint32(seeded)
}

// spreadOut spreads numbers that may be small, by Fibonacci hashing (Knuth, The
// Art of Computer Programming, volume 3, 6.4).
func spreadOut(route uint64) uint64 { return route * 0x9e3779b97f4a7c15 }

// shardAt returns the shard for a result of the route function.
func (s *Set[T]) shardAt(route uint64) *shard[T] {
	number, _ := bits.Mul32(uint32(spreadOut(route)>>32), uint32(len(s.shards)))
	return s.shard(int(number))
}

// mayDiffer reports whether any value of T is not equal to itself, as NaN is.
// The queue could accept such an item, and then never find it again. Most types
// have no such values, and then no operation spends time on the question.
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
