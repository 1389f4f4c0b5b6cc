// Package metrics exports the state of a cluster's queue to Prometheus.
package metrics

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shardq/shardq/cluster"
)

// A Source is a node: a [cluster.Node] is one.
type Source interface {
	ID() string
	Stats() cluster.Stats
	Status(ctx context.Context) (cluster.Status, error)
}

// A Collector is a prometheus.Collector of a node, or also of the whole queue.
type Collector struct {
	source  Source
	options Options
}

// Options configure a [Collector].
type Options struct {
	Name string // of the queue
	// Whole makes the collector also export the state of the whole queue, or
	// shardq_cluster_up 0 if the servers do not answer within five seconds. Set
	// it on one or two nodes.
	Whole bool
}

// New returns a collector of a node.
func New(source Source, options Options) *Collector { return &Collector{source, options} }

type series struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(cluster.Stats) float64
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("shardq_cluster_"+name, help, append([]string{"queue"}, labels...), nil)
}

func seriesOf[N int | uint64](kind prometheus.ValueType, name, help string, value func(cluster.Stats) N) series {
	return series{describe(name, help, "node"), kind, func(s cluster.Stats) float64 { return float64(value(s)) }}
}

var ofNode = []series{
	seriesOf(prometheus.CounterValue, "added_total", "Keys or values that the node has added.", func(s cluster.Stats) uint64 { return s.Added }),
	seriesOf(prometheus.CounterValue, "done_total", "Runs that have ended for good.", func(s cluster.Stats) uint64 { return s.Done }),
	seriesOf(prometheus.CounterValue, "failed_total", "Attempts that have failed and are followed by another.", func(s cluster.Stats) uint64 { return s.Failed }),
	seriesOf(prometheus.CounterValue, "discarded_total", "Keys that have become dead letters.", func(s cluster.Stats) uint64 { return s.Discarded }),
	seriesOf(prometheus.GaugeValue, "partitions", "Partitions that the node reads.", func(s cluster.Stats) int { return s.Partitions }),
	seriesOf(prometheus.GaugeValue, "failing_partitions", "Partitions that the node should read, and cannot; the reader of delayed keys counts, too.", func(s cluster.Stats) int { return s.Failing }),
	seriesOf(prometheus.GaugeValue, "held", "Keys that the node has taken from the servers.", func(s cluster.Stats) int { return s.Held }),
	seriesOf(prometheus.GaugeValue, "in_flight", "Handlers of the node that are running.", func(s cluster.Stats) int { return s.InFlight }),
}

var (
	up      = describe("up", "Whether the servers have answered: 1 or 0.")
	pending = describe("pending", "Pending keys, or values of keys.")
	delayed = describe("delayed", "Delayed keys.")
	dead    = describe("dead_letters", "Keys that were discarded.")
	members = describe("members", "Nodes that work.")
	longest = describe("longest_in_flight_seconds", "How long the key that has been in flight for longest is so, by the clocks of its node and of this one.")
	unowned = describe("unowned_partitions", "Partitions that no node reads.")
	silent  = describe("silent_streams", "Streams that have not answered: what they know is 0 here.")
	skew    = describe("server_clock_skew_seconds", "How much the clocks of two servers differ at least.")
	inEach  = describe("partition_pending", "Pending keys of the partition, or values of keys.", "partition")
	taken   = describe("partition_taken", "Messages of the partition that its owner has taken and not acknowledged.", "partition")
	oldest  = describe("partition_oldest_seconds", "How long ago the oldest pending key of the partition was added.", "partition")
	epoch   = describe("partition_epoch", "The epoch of the partition's owner.", "partition")
)

func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, s := range ofNode {
		to <- s.desc
	}
	if c.options.Whole {
		for _, d := range []*prometheus.Desc{up, pending, delayed, dead, members, longest, unowned, silent, skew, inEach, taken, oldest, epoch} {
			to <- d
		}
	}
}

func (c *Collector) Collect(to chan<- prometheus.Metric) {
	stats, id := c.source.Stats(), c.source.ID()
	for _, s := range ofNode {
		to <- prometheus.MustNewConstMetric(s.desc, s.kind, s.value(stats), c.options.Name, id)
	}
	if !c.options.Whole {
		return
	}
	set := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{c.options.Name}, labels...)...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := c.source.Status(ctx)
	if err != nil {
		set(up, 0)
		return
	}
	set(up, 1)
	set(pending, float64(s.Pending))
	set(delayed, float64(s.Delayed))
	set(dead, float64(s.Dead))
	set(silent, float64(len(s.Silent)))
	set(skew, s.Skew.By.Seconds())
	set(members, float64(len(s.Members)))
	age, without := 0.0, 0
	if key, _, ok := s.Stuck(); ok {
		age = time.Since(key.Began).Seconds()
	}
	set(longest, age)
	for _, p := range s.Partitions {
		number := strconv.Itoa(p.Partition)
		if p.State != cluster.Open {
			without++
		}
		set(inEach, float64(p.Pending), number)
		set(taken, float64(p.Taken), number)
		set(epoch, float64(p.Epoch), number)
		if age = 0; !p.OldestAdded.IsZero() {
			age = max(0, time.Since(p.OldestAdded).Seconds())
		}
		set(oldest, age, number)
	}
	set(unowned, float64(without))
}
