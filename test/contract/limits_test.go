package contract

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/shard"
)

// The limits that the documentation shows as numbers are those of the engine.
func TestLimitsAreTheEngines(t *testing.T) {
	require.Equal(t, shard.MaxShards, shardq.MaxShards)
	require.Equal(t, 1_048_576, shard.MaxGroupWeight, "as GroupPolicy says")
	require.Equal(t, 536_870_911, shard.MaxItems, "as the contract says")
}

// Every method of a queue that New has not made panics with a sentence.
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

func TestStatsSetThousandsApart(t *testing.T) {
	require.Equal(t, "3 ready, 2 in flight, 1,000 delayed, 25,565,100 done",
		shardq.Stats{Ready: 3, Processing: 2, Delayed: 1000, Done: 25_565_100}.String())
}
