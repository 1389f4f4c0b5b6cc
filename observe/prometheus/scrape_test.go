package shardqprom_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/shardq/shardq/internal/series/seriestest"
	shardqprom "github.com/shardq/shardq/observe/prometheus"
)

// serve serves scrapes of a queue that has been used.
func serve(t *testing.T, style shardqprom.Style) *httptest.Server {
	q, fake := seriestest.NewQueue("a \"queue\"\\\n")
	q.Add("a")
	fake.Step(3 * time.Microsecond)
	item, _ := q.Get()
	fake.Step(2 * time.Second)
	q.Done(item)
	q.Add("b")

	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(t, shardqprom.Options{Style: style}, q))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError,
	}))
	t.Cleanup(server.Close)
	return server
}

// scrape requests a format, and returns the body with its type.
func scrape(t *testing.T, server *httptest.Server, format string) (body []byte, kind string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", format)
	response, err := server.Client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	return body, response.Header.Get("Content-Type")
}

func TestScrapeAsText(t *testing.T) {
	body, kind := scrape(t, serve(t, shardqprom.Kubernetes), "text/plain;version=0.0.4")
	require.True(t, strings.HasPrefix(kind, "text/plain"), kind)
	for _, line := range []string{
		`# HELP workqueue_depth [BETA] Current depth of workqueue`,
		`# TYPE workqueue_depth gauge`,
		`workqueue_depth{name="a \"queue\"\\\n"} 1`,
		`workqueue_adds_total{name="a \"queue\"\\\n"} 2`,
		`workqueue_queue_duration_seconds_bucket{name="a \"queue\"\\\n",le="1e-06"} 0`,
		`workqueue_queue_duration_seconds_bucket{name="a \"queue\"\\\n",le="9.999999999999999e-06"} 1`,
		`workqueue_queue_duration_seconds_bucket{name="a \"queue\"\\\n",le="+Inf"} 1`,
		`workqueue_queue_duration_seconds_sum{name="a \"queue\"\\\n"} 3e-06`,
		`workqueue_work_duration_seconds_count{name="a \"queue\"\\\n"} 1`,
	} {
		require.Contains(t, string(body), line+"\n")
	}
}

func TestScrapeAsTextOfControllerRuntime(t *testing.T) {
	body, _ := scrape(t, serve(t, shardqprom.ControllerRuntime), "text/plain;version=0.0.4")
	require.Contains(t, string(body), `workqueue_depth{controller="a \"queue\"\\\n",name="a \"queue\"\\\n",priority=""} 1`)
	require.Contains(t, string(body), "# HELP workqueue_depth Current depth of workqueue by workqueue and priority\n")
}

func TestScrapeAsOpenMetrics(t *testing.T) {
	body, kind := scrape(t, serve(t, shardqprom.Kubernetes), "application/openmetrics-text;version=1.0.0")
	require.True(t, strings.HasPrefix(kind, "application/openmetrics-text"), kind)
	require.True(t, bytes.HasSuffix(body, []byte("# EOF\n")))
	require.Contains(t, string(body), "# TYPE workqueue_adds counter\n", "a counter goes without its _total there")
	require.Contains(t, string(body), `workqueue_adds_total{name="a \"queue\"\\\n"} 2.0`)
}

// TestScrapeAsProtobuf checks the format that has native histograms.
func TestScrapeAsProtobuf(t *testing.T) {
	body, kind := scrape(t, serve(t, shardqprom.Kubernetes),
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	require.True(t, strings.HasPrefix(kind, "application/vnd.google.protobuf"), kind)
	families := map[string]*dto.MetricFamily{}
	for in := bufio.NewReader(bytes.NewReader(body)); ; {
		var family dto.MetricFamily
		err := protodelim.UnmarshalFrom(in, &family)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		families[family.GetName()] = &family
	}
	h := find(t, families["workqueue_work_duration_seconds"]).Histogram
	require.EqualValues(t, 3, h.GetSchema())
	require.Equal(t, map[int]int64{8: 1}, native(t, h), "2 s")
	require.Len(t, h.Bucket, 12)
	require.Empty(t, native(t, find(t, families["shardq_delay_seconds"]).Histogram))
}
