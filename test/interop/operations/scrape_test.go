package operations_test

import (
	"errors"
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// TestPrometheusReadsTheScrape checks that Prometheus's own parsers accept
// every format that it requests without complaint, and find the same counts.
// From protobuf they must get valid native histograms, whose quantiles
// Prometheus finds to 9 %.
func TestPrometheusReadsTheScrape(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_700_000_000, 0))
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 1, Metrics: true, Clock: fake})
	for key := range 1000 {
		q.Add(key)
	}
	for range 1000 { // which were ready for 1 ms, 2 ms, …, 1 s
		fake.Step(time.Millisecond)
		item, _ := q.Get()
		q.Done(item)
	}
	c, err := shardqprom.NewCollector(shardqprom.Options{}, q)
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	for _, format := range []string{
		"text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
	} {
		request, answer := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		request.Header.Set("Accept", format)
		handler.ServeHTTP(answer, request)
		kind := answer.Header().Get("Content-Type")
		require.True(t, strings.HasPrefix(kind, strings.Split(format, ";")[0]), kind)
		numbers, histograms := parseScrape(t, answer.Body.Bytes(), kind)
		require.Equal(t, 1000.0, numbers["workqueue_adds_total"])
		if !strings.Contains(format, "protobuf") {
			require.Equal(t, 1000.0, numbers["workqueue_queue_duration_seconds_count"])
			continue
		}
		require.Len(t, histograms, 3)
		for name, h := range histograms {
			require.NoError(t, h.Validate(), name)
		}
		h := histograms["workqueue_queue_duration_seconds"].ToFloat(nil)
		require.Equal(t, 1000.0, h.Count)
		require.InEpsilon(t, 500.5, h.Sum, 1e-9)
		for _, want := range []float64{0.1, 0.5, 0.9, 0.99} {
			got, _ := promql.HistogramQuantile(want, h, "", posrange.PositionRange{})
			require.InEpsilon(t, want, got, 0.09)
		}
	}
}

// parseScrape returns the numbers and the native histograms of a scrape by the
// names of the series.
func parseScrape(t *testing.T, body []byte, kind string) (map[string]float64, map[string]*histogram.Histogram) {
	parser, err := textparse.New(body, kind, labels.NewSymbolTable(), textparse.ParserOptions{})
	require.NoError(t, err)
	numbers, histograms := map[string]float64{}, map[string]*histogram.Histogram{}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return numbers, histograms
		}
		require.NoError(t, err)
		var series labels.Labels
		switch entry {
		case textparse.EntrySeries:
			parser.Labels(&series)
			_, _, number := parser.Series()
			require.False(t, math.IsNaN(number))
			numbers[series.Get(model.MetricNameLabel)] = number
		case textparse.EntryHistogram:
			parser.Labels(&series)
			_, _, h, _ := parser.Histogram()
			histograms[series.Get(model.MetricNameLabel)] = h
		}
	}
}
