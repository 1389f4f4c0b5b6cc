package harness

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/shardq/shardq"
)

// Metrics: the values of Stats (C33), during other operations and at the end.
// One goroutine reads everything again and again, as a scraper and an open page
// do.

// scrape reads the metrics, and checks that no counter goes down.
func (a *actor) scrape(until <-chan struct{}) {
	var before shardq.Stats
	for turn := 0; !closed(until); turn++ {
		a.operations++
		now, _ := a.queue.stats()
		if fault := faultOfMetrics(before, now); fault != "" {
			a.violated.report("C33", -1, "%s: Stats is %+v, and was %+v", fault, now.Metrics, before.Metrics)
		}
		before = now
		if turn%16 == 0 {
			a.requestPage()
		}
		pause()
	}
}

// faultOfMetrics returns the fault between two readings.
func faultOfMetrics(before, now shardq.Stats) string {
	m := now.Metrics
	if m == nil {
		return "metrics were asked for, and there are none"
	}
	queue, work := m.QueueDuration, m.WorkDuration
	switch {
	case m.Dirty < 0 || m.Dirty > now.Processing && before.Shards == 1:
		return "there are more dirty items than items in processing"
	case queue.Count < work.Count:
		return "more items are done than were handed out"
	case m.LongestRunning > 0 && m.Unfinished < m.LongestRunning:
		return "one item is longer in processing than all together"
	case before.Metrics == nil:
		return ""
	case queue.Count < before.Metrics.QueueDuration.Count || queue.Sum < before.Metrics.QueueDuration.Sum,
		work.Count < before.Metrics.WorkDuration.Count || work.Sum < before.Metrics.WorkDuration.Sum,
		m.Delay.Count < before.Metrics.Delay.Count || m.Delay.Sum < before.Metrics.Delay.Sum,
		m.Retries < before.Metrics.Retries || m.Backoffs < before.Metrics.Backoffs:
		return "what is counted has become less"
	}
	return ""
}

// requestPage requests the page of the queue, as an open page does.
func (a *actor) requestPage() {
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/?format=json", nil)
	request.RemoteAddr = "127.0.0.1:40000"
	a.page.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		a.violated.report("C43", -1, "the page answered %d: %.200s", answer.Code, answer.Body)
	}
}

// checkMetrics compares the metrics with the records, after all consumers have
// left.
func (r *round) checkMetrics(a *account, s shardq.Stats) {
	if !r.plan.Mix.Has(Metrics) {
		return
	}
	m, fault := s.Metrics, ""
	switch {
	case m == nil:
		fault = "metrics were asked for"
	case m.QueueDuration.Count != a.gets:
		fault = fmt.Sprintf("%d items were handed out", a.gets)
	case m.WorkDuration.Count != a.gets:
		fault = fmt.Sprintf("%d items were done", a.gets)
	case m.Depth != 0 || m.Dirty != 0:
		fault = "nothing is left"
	case m.Retries > a.deferred+a.immediate+a.perhaps:
		fault = "there were fewer adds than retries"
	case m.Backoffs > m.Retries:
		fault = "there are more backoffs than retries"
	}
	if fault != "" {
		r.violated.report("C33", -1, "%s, and the metrics are %+v", fault, m)
	}
}
