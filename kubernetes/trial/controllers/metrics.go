package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics are those of work queues, by the name of the queue.
type metrics map[string]*queueMetrics

type queueMetrics struct {
	adds, retries float64
	depth         float64
	unfinished    float64 // the seconds that items have been in processing
	duration      histogram
}

// A histogram counts observations by the greatest value of their bucket.
type histogram struct {
	count   uint64
	sum     float64
	buckets map[float64]uint64 // those that are no greater
}

// readMetrics reads the metrics of a manager.
func (m *manager) readMetrics(ctx context.Context) (metrics, error) {
	text, err := m.api.exchange(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	all := metrics{}
	each := func(family string, note func(*queueMetrics, *dto.Metric)) {
		for _, one := range families[family].GetMetric() {
			for _, label := range one.GetLabel() {
				if label.GetName() != "name" {
					continue
				}
				if all[label.GetValue()] == nil {
					all[label.GetValue()] = &queueMetrics{}
				}
				note(all[label.GetValue()], one)
			}
		}
	}
	each("workqueue_adds_total", func(q *queueMetrics, m *dto.Metric) { q.adds = m.GetCounter().GetValue() })
	each("workqueue_retries_total", func(q *queueMetrics, m *dto.Metric) { q.retries = m.GetCounter().GetValue() })
	each("workqueue_depth", func(q *queueMetrics, m *dto.Metric) { q.depth = m.GetGauge().GetValue() })
	each("workqueue_unfinished_work_seconds", func(q *queueMetrics, m *dto.Metric) { q.unfinished = m.GetGauge().GetValue() })
	each("workqueue_queue_duration_seconds", func(q *queueMetrics, m *dto.Metric) { q.duration.add(m.GetHistogram()) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no metrics of work queues", controllerManager)
	}
	return all, nil
}

// settled waits until all queues are empty, and returns the metrics.
func (m *manager) settled(ctx context.Context) (metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		all, err := m.readMetrics(ctx)
		if err != nil {
			return nil, err
		}
		total := all.total()
		if total.depth == 0 && total.unfinished == 0 {
			return all, nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, fmt.Errorf("the queues do not get empty: they have %v items", total.depth)
		}
	}
}

// total sums the metrics of all queues.
func (all metrics) total() queueMetrics {
	var sum queueMetrics
	for _, q := range all {
		sum.adds += q.adds
		sum.retries += q.retries
		sum.depth += q.depth
		sum.unfinished += q.unfinished
		sum.duration.merge(q.duration)
	}
	return sum
}

func (h *histogram) add(from *dto.Histogram) {
	one := histogram{from.GetSampleCount(), from.GetSampleSum(), map[float64]uint64{}}
	for _, b := range from.GetBucket() {
		one.buckets[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	h.merge(one)
}

func (h *histogram) merge(other histogram) {
	if h.buckets == nil {
		h.buckets = map[float64]uint64{}
	}
	h.count += other.count
	h.sum += other.sum
	for bound, count := range other.buckets {
		h.buckets[bound] += count
	}
}

// mean returns the mean of the observations.
func (h *histogram) mean() time.Duration {
	return seconds(h.sum / float64(max(1, h.count)))
}

// quantile estimates a quantile as histogram_quantile of Prometheus does: it
// takes the observations of a bucket for evenly distributed. Of the last bucket
// it tells the lower bound.
func (h *histogram) quantile(q float64) string {
	rank, below, lower := q*float64(h.count), 0.0, 0.0
	bounds := make([]float64, 0, len(h.buckets))
	for bound := range h.buckets {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	for _, bound := range bounds {
		count := float64(h.buckets[bound])
		if count >= rank && count > below {
			if math.IsInf(bound, 1) {
				return "over " + short(seconds(lower))
			}
			return short(seconds(lower + (bound-lower)*(rank-below)/(count-below)))
		}
		below, lower = count, bound
	}
	return short(seconds(lower))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// countErrors counts the errors in a log of Kubernetes.
func countErrors(log string) (n int, err error) {
	text, err := os.ReadFile(log)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		if line := lines.Bytes(); len(line) > 5 && line[0] == 'E' && line[1] >= '0' && line[1] <= '9' && line[5] == ' ' {
			n++
		}
	}
	return n, errors.Join(err, lines.Err())
}
