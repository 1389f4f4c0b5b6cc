package shard

import (
	"hash/maphash"
	"math/bits"
	"reflect"
)

// locate returns the shard of item, by the upper half of a seeded hash, and the
// lower half, which finds item within the shard. The seed keeps outsiders from
// choosing keys that collide. A user's route only chooses the shard, so a poor
// one makes shards uneven, never slow.
//
// locate panics if item holds a dynamic value that cannot be hashed, in the
// caller's goroutine and before anything is locked or changed.
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

func (s *Set[T]) shardAt(route uint64) *shard[T] {
	number, _ := bits.Mul32(uint32(spreadOut(route)>>32), uint32(len(s.shards)))
	return s.shard(int(number))
}

// mayDiffer reports whether any value of T is not equal to itself, as NaN is.
// The queue would accept such an item, and never find it again.
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
