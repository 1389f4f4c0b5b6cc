package contract

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A call that panics for its arguments changes nothing.
func TestC38C42WrongArgumentsPanic(t *testing.T) {
	var none context.Context
	q, c := newQueue[int](2), newJoiner(1)
	require.Panics(t, func() { _, _ = c.Drain(none, shardq.DrainOptions{}) })
	require.NoError(t, c.Put("a", ""))
	require.Panics(t, func() { _, _ = q.Drain(none, shardq.DrainOptions{}) })
	for fault, options := range map[string]shardq.DrainOptions{
		"shardq: DrainOptions.Delayed is 9: want DropDelayed, RunDelayed or AwaitDelayed":        {Delayed: 9},
		"shardq: DrainOptions.Retries is 9: want DefaultRetries, RefuseRetries or AcceptRetries": {Retries: 9},
	} {
		require.PanicsWithValue(t, fault, func() { _, _ = q.Drain(t.Context(), options) })
		require.False(t, q.ShuttingDown())
	}
	require.PanicsWithValue(t, "shardq: AddOptions.Policy is 4: want KeepEarliest, KeepLatest, KeepNew or KeepOld",
		func() { q.AddWith(1, shardq.AddOptions{Policy: 4}) })
	requireCycle(t, q, 1)
}

func TestC67Faults(t *testing.T) {
	for _, r := range []shardq.Rate{
		{PerSecond: math.NaN()}, {PerSecond: -1}, {PerSecond: math.Inf(1)}, {PerSecond: math.Inf(-1)},
		{PerSecond: 1, Burst: -1}, {Burst: 1}, {PerSecond: 1.0 / 86_400, Burst: 100_000}, {PerSecond: 5e-324, Burst: 2},
	} {
		require.Error(t, r.Validate(), "%v", r)
		_, err := shardq.New(shardq.Options[string]{Rate: r})
		require.ErrorContains(t, err, "Options.Rate: ")
		asked := r
		policy := func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: asked} }
		q := shardq.MustNew(shardq.Options[string]{Group: tenant, GroupPolicy: policy})
		require.Panics(t, func() { q.Add("a/1") })
		require.Panics(t, func() { q.RefreshGroup("a") })
		require.Panics(t, func() { q.SetRate(r) })
		require.Zero(t, q.Stats().Held)
		asked = shardq.Rate{}
		q.Add("a/1")
		takeItem(t, q, "a/1")
	}
	for _, r := range []shardq.Rate{{}, {PerSecond: 1}, {PerSecond: math.MaxFloat64, Burst: math.MaxInt}, {PerSecond: 5e-324}} {
		require.NoError(t, r.Validate())
		q := shardq.MustNew(shardq.Options[string]{Group: tenant, Rate: r, GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Rate: r} }})
		q.Add("a/1")
		takeItem(t, q, "a/1")
	}
	q := shardq.MustNew(shardq.Options[string]{})
	require.PanicsWithValue(t, "shardq: the queue has no groups: want Options.Group", func() { q.PauseGroup("a", time.Time{}) })
	require.Panics(t, func() { q.ResumeGroup("a") })
	require.Panics(t, func() { q.RefreshGroup("a") })
}

func TestOptionsEachFaultAlone(t *testing.T) {
	hash := func(string) uint64 { return 0 }
	onWatermark, onStuck := func(shardq.Watermark) {}, func(stats.Item[string]) {}
	for fault, options := range map[string]shardq.Options[string]{
		"Options.Shards is -1":                                {Shards: -1},
		"Options.Shards is 4097":                              {Shards: shardq.MaxShards + 1},
		"Options.Tick is -1ns":                                {Tick: -1},
		"Options.Hash and Options.StableRouting are both set": {Hash: hash, StableRouting: true},
		"Options.Capacity is -1":                              {Capacity: -1},
		"Options.LowPriorityInterval is -1":                   {LowPriorityInterval: -1},
		"Options.Watermarks has Low 3 and High 3":             {Watermarks: shardq.Watermarks{High: 3, Low: 3, On: onWatermark}},
		"Options.Watermarks has Low -1 and High 3":            {Watermarks: shardq.Watermarks{High: 3, Low: -1, On: onWatermark}},
		"Options.Watermarks has Low 0 and High 0":             {Watermarks: shardq.Watermarks{On: onWatermark}},
		"Options.StuckAfter is 0s":                            {OnStuck: onStuck},
		"Options.StuckAfter is -1s":                           {OnStuck: onStuck, StuckAfter: -time.Second},
		"Options.Watermarks has Low 3 and High 2":             {Watermarks: shardq.Watermarks{High: 2, Low: 3}},
		"Options.Watermarks has Low 0 and High -1":            {Watermarks: shardq.Watermarks{High: -1}, Logger: slog.Default()},
		"Options.Watermarks has Low 7 and High 0":             {Watermarks: shardq.Watermarks{Low: 7}, Logger: slog.Default()},
		"Options.StuckAfter is -2s: want 0 (never) or more":   {StuckAfter: -2 * time.Second},
		"Options.StuckAfter is 1s: want it with OnStuck":      {StuckAfter: time.Second},
		"Options.StuckAfter is -3s: want 0 (never) or more":   {StuckAfter: -3 * time.Second, Logger: slog.Default()},
		"Options.GroupPolicy is set: want it with Group":      {GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{} }},
	} {
		_, err := shardq.New(options)
		require.ErrorContains(t, err, fault)
		require.NotContains(t, err.Error(), "\n", "one fault, one line")
	}
}
