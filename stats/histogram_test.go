package stats

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBucketBounds: each bound is the greatest whole number of nanoseconds
// within an eighth root of two, or a power of ten, and none is missing.
func TestBucketBounds(t *testing.T) {
	want := map[time.Duration]bool{math.MaxInt64: true}
	for decade := time.Duration(10); decade <= 1000*time.Second; decade *= 10 {
		want[decade] = true
	}
	for power := -30; power <= 20; power++ {
		for eighth := range 8 {
			if power < 20 || eighth == 0 {
				seconds := math.Pow(2, float64(power)+float64(eighth)/8)
				want[time.Duration(seconds*1e9)] = true
			}
		}
	}
	sorted := slices.Sorted(maps.Keys(want))
	require.Len(t, bucketBounds, len(sorted))
	for i, bound := range bucketBounds {
		// Pow and Exp2 may differ in the last bit.
		if off := bound - sorted[i]; off < -1 || off > 1 || off != 0 && bound > time.Second && float64(off)/float64(bound) > 1e-9 {
			t.Errorf("bound %d is %d, not %d", i, bound, sorted[i])
		}
	}
}

// TestRecorderHasRoom: each bucket has its place in a recorder, and there is no other.
func TestRecorderHasRoom(t *testing.T) {
	require.Equal(t, (len(bucketBounds)+pageBuckets-1)/pageBuckets, recorderPages)
}

// TestBucketOf compares bucketOf with a search through all buckets.
func TestBucketOf(t *testing.T) {
	check := func(d uint64) {
		want := slices.IndexFunc(bucketBounds, func(bound time.Duration) bool { return time.Duration(d) <= bound })
		require.Equal(t, want, bucketOf(d), d)
	}
	for d := range uint64(5000) {
		check(d)
	}
	for _, bound := range bucketBounds {
		check(uint64(bound))
		check(uint64(max(bound, 1) - 1))
		check(min(uint64(bound)+1, math.MaxInt64))
	}
	for bit := range 63 {
		for cell := range uint64(cellsPerBit) {
			least := uint64(1)<<bit + cell<<bit/cellsPerBit
			check(least)
			check(least - 1)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		check(random.Uint64() >> (1 + random.IntN(63)))
	}
}

// readingOf returns a reading of one recorder.
func readingOf(r *Recorder) Histogram {
	h := emptyHistogram()
	r.AddTo(&h)
	return h
}

func recorded(durations ...time.Duration) Histogram {
	var r Recorder
	for _, d := range durations {
		r.Record(0, uint64(d))
	}
	return readingOf(&r)
}

func TestHistogramOfNothing(t *testing.T) {
	for _, h := range []Histogram{{}, emptyHistogram()} {
		for _, zero := range []any{h.Count, h.Sum, h.Mean(), h.Quantile(0.5), h.AtMost(math.MaxInt64)} {
			require.Zero(t, zero)
		}
		require.Empty(t, maps.Collect(h.Buckets()))
	}
}

// TestHistogramIsAsTheDurations compares what a histogram says with what the
// durations do.
func TestHistogramIsAsTheDurations(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var all []time.Duration
	sum := time.Duration(0)
	for range 1000 {
		d := time.Duration(random.Uint64() >> (20 + random.IntN(44)))
		all = append(all, d)
		sum += d
	}
	h := recorded(all...)
	slices.Sort(all)
	require.EqualValues(t, 1000, h.Count)
	require.Equal(t, sum, h.Sum)
	require.Equal(t, time.Duration(float64(sum)/1000), h.Mean())
	for i, bound := range bucketBounds {
		want, _ := slices.BinarySearch(all, bound+1)
		if bound == math.MaxInt64 {
			want = len(all)
		}
		require.EqualValues(t, want, h.AtMost(bound), bound)
		if i > 0 && bound-bucketBounds[i-1] > 1 && h.AtMost(bound-1) != h.AtMost(bucketBounds[i-1]) {
			t.Errorf("between bounds, AtMost counts what is in the bucket of %v", bound)
		}
	}
	for part := 0.0; part <= 1; part += 1.0 / 64 {
		exact := all[max(0, int(math.Ceil(part*1000))-1)]
		require.Equal(t, bucketBounds[bucketOf(uint64(exact))], h.Quantile(part), part)
	}
	require.Equal(t, h.Quantile(0), h.Quantile(-1))
	require.Equal(t, h.Quantile(1), h.Quantile(2))
	checkBuckets(t, h, all)
}

// checkBuckets checks that the buckets come in order, none empty, with all that
// there is.
func checkBuckets(t *testing.T, h Histogram, sorted []time.Duration) {
	t.Helper()
	counted, before := 0, time.Duration(-1)
	for bound, n := range h.Buckets() {
		if n == 0 || bound <= before {
			t.Errorf("a bucket to %v with %d after that to %v", bound, n, before)
		}
		counted += int(n)
		if sorted[counted-1] > bound || counted < len(sorted) && sorted[counted] <= bound {
			t.Errorf("the bucket to %v ends with the wrong duration", bound)
		}
		before = bound
	}
	require.Len(t, sorted, counted)
}

// TestHistogramSumDoesNotOverflow: with delays as long as there are, the sum
// stays the longest that there is.
func TestHistogramSumDoesNotOverflow(t *testing.T) {
	var a, b Recorder
	for range 5 {
		a.Record(0, uint64(math.MaxInt64))
		b.Record(0, uint64(time.Second))
	}
	b.Record(0, uint64(math.MaxInt64))
	h := emptyHistogram()
	for _, r := range []*Recorder{&a, &b} {
		r.AddTo(&h)
		require.Equal(t, time.Duration(math.MaxInt64), h.Sum)
		require.GreaterOrEqual(t, h.Mean(), time.Duration(0))
	}
	var c Recorder
	c.Record(0, 1<<63+1)
	c.Record(0, math.MaxUint64)
	require.Equal(t, time.Duration(math.MaxInt64), readingOf(&c).Sum)
	require.Zero(t, readingOf(&c).AtMost(1000*time.Second))
	require.EqualValues(t, 11, h.Count)
	require.EqualValues(t, 5, h.AtMost(time.Second))
	require.Equal(t, time.Duration(math.MaxInt64), h.Quantile(1))
}

func emptyHistogram() (h Histogram) {
	h.init()
	return h
}
