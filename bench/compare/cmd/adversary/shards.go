package main

import "reflect"

// fullestShard returns the number of ready items in the fullest shard of a
// shardq queue. No method returns it, so it reads unexported fields by
// reflection, which panics if they are missing. No other goroutine may use the
// queue.
func fullestShard(q any) (most int64) {
	shards := reflect.ValueOf(q).Elem().FieldByName("shards").Elem().FieldByName("shards")
	shard := shards.Type().Elem().Field(0).Type.Elem().Elem() // of an atomic.Pointer: [0]*shard
	for i := range shards.Len() {
		if p := shards.Index(i).FieldByName("v").UnsafePointer(); p != nil {
			fifo := reflect.NewAt(shard, p).Elem().FieldByName("ready").FieldByName("fifo")
			most = max(most, fifo.FieldByName("length").Int())
		}
	}
	return most
}
