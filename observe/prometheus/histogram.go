package shardqprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/stats"
)

// bounds are computed as in controller-runtime. Two are slightly inexact, and
// so the label le has the same text, 9.999999999999999e-06.
var bounds = prometheus.ExponentialBuckets(10e-9, 10, 12)

// A histogram has classic and native buckets, as one of client_golang with
// both.
type histogram struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair
	counts stats.Histogram
}

func (h histogram) Desc() *prometheus.Desc { return h.desc }

func (h histogram) Write(out *dto.Metric) error {
	native := series.BucketsOf(h.counts)
	spans, deltas := spansOf(native)
	out.Label = h.labels
	out.Histogram = &dto.Histogram{
		SampleCount:   new(h.counts.Count),
		SampleSum:     new(h.counts.Sum.Seconds()),
		Bucket:        classic(h.counts),
		Schema:        new(int32(series.Schema)),
		ZeroThreshold: new(float64(prometheus.DefNativeHistogramZeroThreshold)),
		ZeroCount:     new(native.Zero),
		PositiveSpan:  spans,
		PositiveDelta: deltas,
	}
	return nil
}

func classic(h stats.Histogram) []*dto.Bucket {
	buckets := make([]*dto.Bucket, len(bounds))
	for i, decade := 0, 10*time.Nanosecond; i < len(bounds); i, decade = i+1, decade*10 {
		buckets[i] = &dto.Bucket{UpperBound: &bounds[i], CumulativeCount: new(h.AtMost(decade))}
	}
	return buckets
}

// bridged is the number of empty buckets up to which a span continues, because
// a new span costs as much.
const bridged = 2

// spansOf encodes native buckets as spans of consecutive buckets. Each count is
// encoded as the difference from the one before.
func spansOf(b series.Buckets) (spans []*dto.BucketSpan, deltas []int64) {
	end, before := 0, int64(0) // the end of the last span, and the last count
	for i, n := range b.Counts {
		if n == 0 {
			continue
		}
		at := b.First + i
		if gap := at - end; len(spans) == 0 || gap > bridged {
			spans = append(spans, &dto.BucketSpan{Offset: new(int32(gap)), Length: new(uint32(0))})
			end = at
		}
		for ; end < at; end++ { // the empty buckets between
			deltas = append(deltas, -before)
			before = 0
			*spans[len(spans)-1].Length++
		}
		deltas = append(deltas, int64(n)-before)
		before = int64(n)
		*spans[len(spans)-1].Length++
		end++
	}
	return spans, deltas
}
