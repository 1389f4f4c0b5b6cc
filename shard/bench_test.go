package shard

import (
	"fmt"
	"testing"
)

// Kinds of keys that programs have.
func stringKey(i int) string { return fmt.Sprintf("namespace-%04d/pod-%011d", i%100, i) } // 30 bytes

// BenchmarkCycle measures Add, Get and Done in one goroutine, or Add, TryTake
// and End.
func BenchmarkCycle(b *testing.B) {
	for _, shards := range []int{1, 16} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			s := newTestSet(b, Config[string]{Settings: Settings{Shards: shards}})
			keys := make([]string, 1024)
			for i := range keys {
				keys[i] = stringKey(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Add(keys[i%len(keys)])
				item, _ := s.Get()
				s.Done(item)
			}
		})
		b.Run(fmt.Sprintf("shards=%d/claims", shards), func(b *testing.B) {
			s := newTestSet(b, Config[string]{Settings: Settings{Shards: shards}})
			keys := make([]string, 1024)
			for i := range keys {
				keys[i] = stringKey(i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Add(keys[i%len(keys)])
				_, _, h, _ := s.TryTake()
				s.Core.End(h)
			}
		})
	}
}
