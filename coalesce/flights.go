package coalesce

import "github.com/shardq/shardq/shard"

// A flight is a value that a worker has, if Readable is set.
type flight[V any] struct {
	value V
	at    shard.Handle
}

// flights has the values of a stripe's keys that workers have. It is nil until
// there is one. The lock of the stripe guards it.
type flights[K comparable, V any] struct {
	of map[K]flight[V]
	// peak is that of the map, as in a stripe.
	peak int32
}

func (f *flights[K, V]) lookup(key K) (found flight[V], is bool) {
	if f == nil {
		return found, false
	}
	found, is = f.of[key]
	return found, is
}

func (f *flights[K, V]) insert(key K, one flight[V]) {
	if f.of == nil {
		f.of, f.peak = make(map[K]flight[V]), smallMap
	}
	f.of[key] = one
	f.peak = max(f.peak, int32(len(f.of)))
}

func (f *flights[K, V]) remove(key K) {
	if f == nil {
		return
	}
	delete(f.of, key)
	if isSparse(len(f.of), f.peak) {
		f.of, f.peak = smaller(f.of)
	}
}
