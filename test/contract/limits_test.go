package contract

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// TestLimitsAreTheEngines: the limits that the documentation shows as numbers
// are those of the engine.
func TestLimitsAreTheEngines(t *testing.T) {
	require.Equal(t, shard.MaxShards, shardq.MaxShards)
	require.Equal(t, 1_048_576, shard.MaxGroupWeight, "as GroupPolicy says")
	require.Equal(t, 536_870_911, shard.MaxItems, "as the contract says")
}

// TestZeroQueue: every method of a queue that New has not made panics with a
// sentence.
func TestZeroQueue(t *testing.T) {
	q := reflect.ValueOf(&shardq.Queue[string]{})
	for i := range q.NumMethod() {
		method := q.Type().Method(i)
		arguments := make([]reflect.Value, method.Type.NumIn()-1)
		for n := range arguments {
			in := method.Type.In(n + 1)
			arguments[n] = reflect.Zero(in)
			if in == reflect.TypeFor[context.Context]() {
				arguments[n] = reflect.ValueOf(t.Context())
			}
		}
		call := q.Method(i).Call
		if method.Type.IsVariadic() {
			call = q.Method(i).CallSlice
		}
		require.PanicsWithValue(t, "shardq: the Queue is not made by New", func() { call(arguments) }, method.Name)
	}
}

// TestStatsInALine: items done, released and canceled are counted right.
func TestStatsInALine(t *testing.T) {
	q := shardq.MustNew(shardq.Options[string]{Shards: 3})
	require.Equal(t, "0 ready, 0 in flight, 0 delayed, 0 done", q.Stats().String())
	for item := range 1100 {
		q.Add(fmt.Sprint(item))
		claim, _ := q.TryClaim()
		require.NoError(t, claim.Done())
	}
	q.AddBatch([]string{"a", "b", "c", "d", "e", "f"}, shardq.AddOptions{})
	for range 3 {
		_, _ = q.Get()
	}
	q.AddAfter("g", time.Hour)
	require.Equal(t, "3 ready, 3 in flight, 1 delayed, 1,100 done", q.Stats().String())
	require.EqualValues(t, 1100, q.Stats().Done)
}
