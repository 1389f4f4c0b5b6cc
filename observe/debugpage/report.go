package debugpage

import (
	"math"
	"time"

	"github.com/shardq/shardq/stats"
)

// schemaVersion is the version of the JSON answers. A new field does not change
// it. A renamed field, or one with a new meaning, does.
const schemaVersion = 2

// A report has everything that the page shows, in any format.
type report struct {
	Version int       `json:"version"`
	Title   string    `json:"title"`
	Time    time.Time `json:"time"`
	// TookSeconds is the time that it took to read the queues.
	TookSeconds seconds `json:"tookSeconds"`
	// NotShown is the number of queues beyond those in Queues, and
	// ProblemsNotShown of those among them that have a problem.
	NotShown         int           `json:"notShown"`
	ProblemsNotShown int           `json:"problemsNotShown"`
	Queues           []queueReport `json:"queues"`
	// whole reports whether the report is about one queue, with its detail
	// unless reading it panicked.
	whole bool
	// of is that queue.
	of named
}

// seconds is a duration in seconds, the unit of all durations in the report.
type seconds float64

func inSeconds(d time.Duration) seconds { return seconds(d.Seconds()) }

// optional returns a pointer to the seconds of a duration, or nil if it is not
// known.
func optional(d time.Duration, known bool) *seconds {
	if !known {
		return nil
	}
	s := inSeconds(d)
	return &s
}

// duration returns the duration, limited to those that exist.
func (s seconds) duration() time.Duration {
	nanoseconds := math.Round(float64(s) * float64(time.Second))
	if nanoseconds >= math.MaxInt64 { // the conversion would overflow
		return math.MaxInt64
	}
	return time.Duration(max(nanoseconds, math.MinInt64))
}

// A queueReport has what is shown of a queue.
type queueReport struct {
	// ID selects the queue. It is the name, made unique.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Instance distinguishes the queue from another of the same name that takes
	// its place.
	Instance string `json:"instance"`
	// Fault says why the rest is missing: reading the queue panicked.
	Fault string `json:"fault,omitempty"`
	// State is "running", "shutting down" or "drained".
	State    string   `json:"state"`
	Verdict  verdict  `json:"verdict"`
	Gauges   gauges   `json:"gauges"`
	Counters counters `json:"counters"`
	// Values is nil unless the queue is that of a Coalescer.
	Values *values       `json:"values"`
	Detail *detailReport `json:"detail,omitempty"`
	// Found has the items that the request selects, in place of Detail.
	Found *foundReport `json:"found,omitempty"`
	// asked is the number of rows that the request asks for, or 0. The links to
	// other pages of the queue keep it.
	asked int
}

// gauges describe the queue now. A nil value is not kept by the queue.
type gauges struct {
	Ready      int `json:"ready"`
	Processing int `json:"processing"`
	Delayed    int `json:"delayed"`
	Held       int `json:"held"`
	Capacity   int `json:"capacity"`
	Groups     int `json:"groups"`
	Throttled  int `json:"throttled"`
	Parked     int `json:"parked"`
	Workers    int `json:"workers"`
	// Stuck is the number of items in flight for StuckAfter. It is a lower
	// bound if StuckAtLeast is set.
	Stuck        int  `json:"stuck"`
	StuckAtLeast bool `json:"stuckAtLeast"`
	Paused       bool `json:"paused"`
	// RatePerSecond is the rate of the queue, or nil if there is none.
	RatePerSecond *float64 `json:"ratePerSecond"`
	// OutageFailures is the number of failures since the last success, in an
	// outage, or else 0.
	OutageFailures int `json:"outageFailures"`
	// Limited is the number of items with failures in the limiter.
	Limited *int `json:"limited"`
	// Dirty and Depth come from the metrics.
	Dirty *int `json:"dirty"`
	Depth *int `json:"depth"`

	OldestReadySeconds      *seconds `json:"oldestReadySeconds"`
	OldestProcessingSeconds *seconds `json:"oldestProcessingSeconds"`
	UnfinishedSeconds       *seconds `json:"unfinishedSeconds"`
	// NextDueSeconds is the time until the next delay expires. It is nil if no
	// item is delayed, or the queue is one of several.
	NextDueSeconds *seconds `json:"nextDueSeconds"`
	// Skew is the adds of the busiest shard divided by the mean.
	Skew float64 `json:"skew"`
}

// counters count since the queue was created. A nil value is not kept by the
// queue.
type counters struct {
	Added        uint64  `json:"added"`
	Deduplicated uint64  `json:"deduplicated"`
	Expired      uint64  `json:"expired"`
	Dropped      uint64  `json:"dropped"`
	Canceled     uint64  `json:"canceled"`
	OverCapacity uint64  `json:"overCapacity"`
	Rejected     uint64  `json:"rejected"`
	Misused      uint64  `json:"misused"`
	Discarded    uint64  `json:"discarded"`
	Outages      uint64  `json:"outages"`
	Retries      *uint64 `json:"retries"`
	Backoffs     *uint64 `json:"backoffs"`
	HandedOut    *uint64 `json:"handedOut"`
	Done         *uint64 `json:"done"`
}

// values describe the pending values of a Coalescer.
type values struct {
	// Keys, Lingering, Weight and Capacity describe the values that are pending
	// now.
	Keys      int `json:"keys"`
	Lingering int `json:"lingering"`
	Weight    int `json:"weight"`
	Capacity  int `json:"capacity"`
	// Put, Merged and OverCapacity count since the queue was created.
	Put          uint64 `json:"put"`
	Merged       uint64 `json:"merged"`
	OverCapacity uint64 `json:"overCapacity"`
	// MergedShare is the share of puts that were merged.
	MergedShare float64 `json:"mergedShare"`
}

// A detailReport has what is shown only of the selected queue.
type detailReport struct {
	// Durations is nil without metrics.
	Durations  *durations `json:"durations"`
	Processing []item     `json:"processing"`
	Ready      []item     `json:"ready"`
	Delayed    []item     `json:"delayed"`
	// TimeLeft is the time left of the running delays.
	TimeLeft histogram    `json:"timeLeft"`
	Retried  []failure    `json:"retried"`
	Groups   []group      `json:"groups"`
	Shards   shardsReport `json:"shards"`
	outcomes

	Configuration configuration `json:"configuration"`
}

// durations are the histograms.
type durations struct {
	Queue histogram `json:"queue"`
	Work  histogram `json:"work"`
	Delay histogram `json:"delay"`
}

// A histogram is the distribution of a duration. A quantile is nil if it lies
// beyond the last bound. The mean is nil if the sum exceeds what can be
// counted.
type histogram struct {
	Count       uint64   `json:"count"`
	SumSeconds  seconds  `json:"sumSeconds"`
	MeanSeconds *seconds `json:"meanSeconds"`
	P50Seconds  *seconds `json:"p50Seconds"`
	P90Seconds  *seconds `json:"p90Seconds"`
	P99Seconds  *seconds `json:"p99Seconds"`
	// Buckets has a bucket for each doubling, from the first that is not empty
	// to the last.
	Buckets []bucket `json:"buckets"`
	// Fine has the buckets behind the quantiles, eight for each doubling,
	// without the empty ones. The difference of two readings gives the
	// quantiles of the durations between them.
	Fine fineBuckets `json:"fine"`
}

// fineBuckets has a column of bounds and a column of counts, as in bucket. The
// last bound is nil if there is none.
type fineBuckets struct {
	AtMostSeconds []*seconds `json:"atMostSeconds"`
	Counts        []uint64   `json:"counts"`
}

// A bucket counts the durations above the bound of the previous bucket, and at
// most its own. The bound is nil if there is none.
type bucket struct {
	AtMostSeconds *seconds `json:"atMostSeconds"`
	Count         uint64   `json:"count"`
}

// An item is a row about an item.
type item struct {
	// ID selects the item in a request. It is empty if the queue cannot list
	// its items.
	ID  string `json:"id,omitempty"`
	Key string `json:"key"`
	// KeyLength is the length of the key in bytes, if it was cut.
	KeyLength int `json:"keyLength,omitempty"`
	// AgeSeconds is how long the item has been in its state. It is nil if the
	// queue keeps no ages.
	AgeSeconds *seconds `json:"ageSeconds"`
	// DueSeconds is the time until the delay of the item expires. It is nil if
	// the item is not delayed.
	DueSeconds *seconds `json:"dueSeconds"`
	// Attempts is the number of failures, and Attempt the number of the attempt
	// that runs or comes next, from 1.
	Attempts int    `json:"attempts"`
	Attempt  int    `json:"attempt"`
	State    string `json:"state"`
	// Worker is the number of the worker that processes the item, or 0.
	Worker int `json:"worker"`
	// Batch is the number of items of that worker, if the row stands for
	// several.
	Batch int `json:"batch,omitempty"`
	// Dirty reports whether the item becomes ready again at its Done.
	Dirty bool   `json:"dirty"`
	Group string `json:"group"`
	// GroupLength is the length of the group's name in bytes, if it was cut.
	GroupLength int `json:"groupLength,omitempty"`
	Priority    int `json:"priority"`
	Shard       int `json:"shard"`
	// Stuck reports whether the item has been in processing for StuckAfter.
	Stuck bool `json:"stuck"`
}

// A failure is a row about an item that failed.
type failure struct {
	// ID selects the item, as in item.
	ID        string `json:"id,omitempty"`
	Key       string `json:"key"`
	KeyLength int    `json:"keyLength,omitempty"`
	Failures  int    `json:"failures"`
}

// A group is a row about a group of items.
type group struct {
	// ID selects the group in a request. It is empty if the queue cannot list
	// its items.
	ID          string `json:"id,omitempty"`
	Group       string `json:"group"`
	GroupLength int    `json:"groupLength,omitempty"`
	Ready       int    `json:"ready"`
	// Share is the group's share of all ready items.
	Share              float64  `json:"share"`
	OldestReadySeconds *seconds `json:"oldestReadySeconds"`
	Processing         int      `json:"processing"`
	Held               int      `json:"held"`
	Weight             int      `json:"weight"`
	Throttled          bool     `json:"throttled"`
	// ThrottledBy is limit, rate or pause. It is pause also if nothing is ready
	// in a paused group. PauseLeftSeconds is nil if the pause does not end by
	// itself.
	ThrottledBy      string   `json:"throttledBy"`
	PauseLeftSeconds *seconds `json:"pauseLeftSeconds"`
	// Limit is 0, and RatePerSecond nil, if there is none.
	Limit         int      `json:"limit"`
	RatePerSecond *float64 `json:"ratePerSecond"`
	Burst         int      `json:"burst,omitempty"`
	Shard         int      `json:"shard"`
}

// A shardsReport has a column for each quantity, with one value for each shard.
// Rows would be several times as long. The ages are nil if the queue keeps
// none.
type shardsReport struct {
	Ready      []int    `json:"ready"`
	Processing []int    `json:"processing"`
	Delayed    []int    `json:"delayed"`
	Held       []int    `json:"held"`
	Added      []uint64 `json:"added"`

	OldestReadySeconds      []seconds `json:"oldestReadySeconds"`
	OldestProcessingSeconds []seconds `json:"oldestProcessingSeconds"`
}

// configuration describes the options of the queue.
type configuration struct {
	Item                string  `json:"item"`
	Shards              int     `json:"shards"`
	Routing             string  `json:"routing"`
	Capacity            int     `json:"capacity"`
	TickSeconds         seconds `json:"tickSeconds"`
	StuckSeconds        seconds `json:"stuckSeconds"`
	LowPriorityInterval int     `json:"lowPriorityInterval"`
	Groups              bool    `json:"groups"`
	Ages                bool    `json:"ages"`
	Metrics             bool    `json:"metrics"`
	Controller          bool    `json:"controller"`
	Limiter             string  `json:"limiter"`
	Clock               string  `json:"clock"`
}

func newConfiguration(c stats.Configuration) configuration {
	return configuration{
		Item: c.Item, Shards: c.Shards, Routing: c.Routing, Capacity: c.Capacity,
		TickSeconds: inSeconds(c.Tick), StuckSeconds: inSeconds(c.StuckAfter),
		LowPriorityInterval: c.LowPriorityInterval,
		Groups:              c.Groups, Ages: c.Ages, Metrics: c.Metrics, Controller: c.Controller,
		Limiter: c.Limiter, Clock: c.Clock,
	}
}
