package operations_test

import (
	"errors"
	"io"
	"math"
	"net/http"
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

// formats are the formats that Prometheus requests.
var formats = map[string]string{
	"text":        "text/plain;version=0.0.4",
	"OpenMetrics": "application/openmetrics-text;version=1.0.0",
	"protobuf":    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
}

// TestPrometheusReadsTheScrape checks that Prometheus's own parsers accept
// every format without complaint, and find the same counts. From protobuf they
// must get valid native histograms.
func TestPrometheusReadsTheScrape(t *testing.T) {
	server := serveTraffic(t)
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			numbers, histograms := parseScrape(t, server, format)
			require.Equal(t, 1000.0, numbers["workqueue_adds_total"])
			if name != "protobuf" {
				require.Equal(t, 1000.0, numbers["workqueue_queue_duration_seconds_count"])
				require.Empty(t, histograms)
				return
			}
			require.Len(t, histograms, 3)
			for name, h := range histograms {
				require.NoError(t, h.Validate(), name)
			}
			requireQuantiles(t, histograms["workqueue_queue_duration_seconds"].ToFloat(nil))
		})
	}
}

// serveTraffic serves a queue in which a thousand items were ready for 1 ms, 2
// ms, …, 1 s.
func serveTraffic(t *testing.T) *httptest.Server {
	fake := clock.NewFake(time.Unix(1_700_000_000, 0))
	q := shardq.MustNew(shardq.Options[int]{Name: "q", Shards: 1, Metrics: true, Clock: fake})
	for key := range 1000 {
		q.Add(key)
	}
	for range 1000 {
		fake.Step(time.Millisecond)
		item, _ := q.Get()
		q.Done(item)
	}
	c, err := shardqprom.NewCollector(shardqprom.Options{}, q)
	require.NoError(t, err)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	t.Cleanup(server.Close)
	return server
}

// requireQuantiles checks that Prometheus finds the quantiles to 9 %.
func requireQuantiles(t *testing.T, h *histogram.FloatHistogram) {
	require.Equal(t, 1000.0, h.Count)
	require.InEpsilon(t, 500.5, h.Sum, 1e-9)
	for _, want := range []float64{0.1, 0.5, 0.9, 0.99} {
		got, _ := promql.HistogramQuantile(want, h, "", posrange.PositionRange{})
		require.InEpsilon(t, want, got, 0.09)
	}
}

// parseScrape scrapes, and returns the numbers and the native histograms by the
// names of the series.
func parseScrape(t *testing.T, server *httptest.Server, format string) (map[string]float64, map[string]*histogram.Histogram) {
	t.Helper()
	body, kind := get(t, server, format)
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

func get(t *testing.T, server *httptest.Server, format string) (body []byte, kind string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", format)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	kind = response.Header.Get("Content-Type")
	require.True(t, strings.HasPrefix(kind, strings.Split(format, ";")[0]), kind)
	return body, kind
}
