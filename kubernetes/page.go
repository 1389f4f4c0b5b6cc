package kubernetes

import (
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/internal/series"
	"github.com/shardq/shardq/observe/debugpage"
)

// pages has the queues that were not shut down, from the oldest.
var pages pageList

type pageList struct {
	mu     sync.Mutex
	queues []shardq.Inspector
}

func (r *pageList) set(q shardq.Inspector, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues = slices.DeleteFunc(r.queues, func(other shardq.Inspector) bool { return other == q })
	if open {
		r.queues = append(r.queues, q)
	}
}

func (r *pageList) list() []shardq.Inspector {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.queues)
}

// Path is where the live page is mounted, by convention.
const Path = "/debug/workqueue"

// Handler serves a live page about the queues of this package that were not
// shut down. Mount it on the metrics server of a manager, behind its
// authentication:
//
//	Metrics: metricsserver.Options{
//		SecureServing:  true,
//		FilterProvider: filters.WithAuthenticationAndAuthorization,
//		ExtraHandlers:  map[string]http.Handler{kubernetes.Path: kubernetes.Handler()},
//	}
//
// It answers everyone who can reach it.
func Handler() http.Handler {
	page, err := debugpage.New(debugpage.Options{List: pages.list, Allow: func(*http.Request) bool { return true }})
	if err != nil {
		panic(err) // the options are constant
	}
	return page
}

// GroupMetrics returns a collector of shardq_group_items: the items of each
// open queue's largest groups, as many as most says, and of its other groups
// together, as the group "other". Of queues with one name only the first has
// series. Each scrape reads all groups. Register it once:
//
//	metrics.Registry.MustRegister(kubernetes.GroupMetrics(20))
func GroupMetrics(most int) prometheus.Collector {
	return &groupCollector{max(1, most), prometheus.NewDesc("shardq_group_items", series.GroupItems.Text,
		[]string{"name", "controller", "group", "state"}, nil)}
}

type groupCollector struct {
	most int
	desc *prometheus.Desc
}

func (c *groupCollector) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

func (c *groupCollector) Collect(to chan<- prometheus.Metric) {
	known := map[string]bool{"": true} // a name twice would fail the scrape
	for _, q := range pages.list() {
		name := q.Name()
		if known[name] {
			continue
		}
		known[name] = true
		reading := &registry.Reading{Row: &registry.Row{Name: name, Queue: q, Configuration: q.Inspect().Configuration()}}
		for part, items := range reading.Groups(c.most) {
			to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(items), name, name, part.Group, part.Of)
		}
	}
}
