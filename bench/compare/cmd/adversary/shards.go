package main

import "reflect"

// fullestShard returns the number of ready items in the shard of a shardq queue that
// has most. No method tells, so it looks into the unexported fields, by way of
// reflection, which panics if they have gone. Nobody else may use the queue.
func fullestShard(q any) (most int64) {
	shards := reflect.ValueOf(q).Elem().FieldByName("shards").Elem().FieldByName("shards")
	for i := range shards.Len() {
		most = max(most, shards.Index(i).FieldByName("fifo").FieldByName("length").Int())
	}
	return most
}
