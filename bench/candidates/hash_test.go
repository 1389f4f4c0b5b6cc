package candidates

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/shardq/shardq/bench/workload"
)

// BenchmarkHash compares hash functions on the keys of queues. uneven is the
// load of the fullest of 64 shards, which the upper half of the hash selects,
// divided by the mean. Equal shards have 1, and 64k keys at random have 1.08.
func BenchmarkHash(b *testing.B) {
	seed := maphash.MakeSeed()
	b.Run("key=string", func(b *testing.B) {
		keys := workload.Strings(fewKeys)
		measureHash(b, "maphash.Comparable", keys, func(s string) uint64 { return maphash.Comparable(seed, s) })
		measureHash(b, "maphash.String", keys, func(s string) uint64 { return maphash.String(seed, s) })
		measureHash(b, "xxhash", keys, xxhash.Sum64String)
		measureHash(b, "fnv-1a", keys, func(s string) uint64 { return fnv1a(fnvBasis, s) })
	})
	b.Run("key=request", func(b *testing.B) {
		keys := workload.Requests(fewKeys)
		measureHash(b, "maphash.Comparable", keys, func(r workload.Request) uint64 { return maphash.Comparable(seed, r) })
		measureHash(b, "maphash.Hash", keys, func(r workload.Request) uint64 { return maphashOf(seed, r) })
		measureHash(b, "xxhash", keys, xxhashOf)
		measureHash(b, "fnv-1a", keys, func(r workload.Request) uint64 { return fnv1a(fnv1a(fnvBasis, r.Namespace), r.Name) })
	})
	b.Run("key=uint64", func(b *testing.B) {
		keys := make([]uint64, fewKeys) // consecutive, as identifiers are
		for i := range keys {
			keys[i] = uint64(i)
		}
		measureHash(b, "maphash.Comparable", keys, func(n uint64) uint64 { return maphash.Comparable(seed, n) })
		measureHash(b, "xxhash", keys, func(n uint64) uint64 {
			var bytes [8]byte
			binary.LittleEndian.PutUint64(bytes[:], n)
			return xxhash.Sum64(bytes[:])
		})
		measureHash(b, "multiply", keys, func(n uint64) uint64 { return n * 0x9e3779b97f4a7c15 })
	})
}

func measureHash[T any](b *testing.B, name string, keys []T, hash func(T) uint64) {
	b.Run("hash="+name, func(b *testing.B) {
		b.ReportAllocs()
		var sum uint64
		for i := range b.N {
			sum += hash(keys[i%fewKeys])
		}
		sink = sum
		b.ReportMetric(uneven(keys, hash), "uneven")
	})
}

var sink uint64 // keeps the compiler from removing what is measured

func uneven[T any](keys []T, hash func(T) uint64) float64 {
	const shards = 64
	var load [shards]int
	fullest := 0
	for _, key := range keys {
		number, _ := bits.Mul32(uint32(hash(key)>>32), shards)
		load[number]++
		fullest = max(fullest, load[number])
	}
	return float64(fullest) * shards / float64(len(keys))
}

func maphashOf(seed maphash.Seed, r workload.Request) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(r.Namespace)
	h.WriteByte(0)
	h.WriteString(r.Name)
	return h.Sum64()
}

func xxhashOf(r workload.Request) uint64 {
	var h xxhash.Digest
	h.Reset()
	h.WriteString(r.Namespace)
	h.WriteString(r.Name)
	return h.Sum64()
}

// fnv1a is the 64-bit function of Fowler, Noll and Vo,
// http://www.isthe.com/chongo/tech/comp/fnv.
func fnv1a(hash uint64, s string) uint64 {
	for i := range len(s) {
		hash = (hash ^ uint64(s[i])) * 1099511628211
	}
	return hash
}

const fnvBasis = 14695981039346656037
