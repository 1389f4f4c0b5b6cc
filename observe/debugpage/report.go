package debugpage

import (
	"math"
	"time"

	"github.com/shardq/shardq"
)

// schemaVersion is the version of what format=json answers. What is added does not change it;
// what is renamed, or gets another meaning, does.
const schemaVersion = 1

// A report is all that the page shows, in whatever form.
type report struct {
	Version int       `json:"version"`
	Title   string    `json:"title"`
	Time    time.Time `json:"time"`
	// TookSeconds is how long it took to look.
	TookSeconds seconds `json:"tookSeconds"`
	// NotShown is how many queues there are beyond those in Queues.
	NotShown int           `json:"notShown"`
	Queues   []queueReport `json:"queues"`
	// whole: there is one queue, with its detail, unless reading it panicked.
	whole bool
}

// seconds is a duration in the unit of all durations of the schema.
type seconds float64

func inSeconds(d time.Duration) seconds { return seconds(d.Seconds()) }

// optional returns a pointer to the seconds of a duration, or nil if it is not known.
func optional(d time.Duration, known bool) *seconds {
	if !known {
		return nil
	}
	s := inSeconds(d)
	return &s
}

// duration returns the duration that it is, or that next to it if it is more than there can be.
func (s seconds) duration() time.Duration {
	nanoseconds := math.Round(float64(s) * float64(time.Second))
	if nanoseconds >= math.MaxInt64 { // which a conversion does not say
		return math.MaxInt64
	}
	return time.Duration(max(nanoseconds, math.MinInt64))
}

// A queueReport is what is shown of a queue.
type queueReport struct {
	// ID selects the queue: its name, made unique.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Instance tells the queue from another of the same name that came in its place.
	Instance string `json:"instance"`
	// Fault says why the rest is missing: reading the queue panicked.
	Fault string `json:"fault,omitempty"`
	// State is "running", "shutting down" or "drained".
	State    string   `json:"state"`
	Gauges   gauges   `json:"gauges"`
	Counters counters `json:"counters"`
	// Values is nil for a queue that is not that of a Coalescer.
	Values *values       `json:"values"`
	Detail *detailReport `json:"detail,omitempty"`
}

// gauges say what is there now. What is nil is not kept by the queue.
type gauges struct {
	Ready      int `json:"ready"`
	Processing int `json:"processing"`
	Waiting    int `json:"waiting"`
	Held       int `json:"held"`
	Capacity   int `json:"capacity"`
	Groups     int `json:"groups"`
	HeldBack   int `json:"heldBack"`
	Parked     int `json:"parked"`
	Workers    int `json:"workers"`
	// Limited is how many items the limiter has a history of.
	Limited *int `json:"limited"`
	// Dirty and Depth are those of the metrics.
	Dirty *int `json:"dirty"`
	Depth *int `json:"depth"`

	OldestReadySeconds      *seconds `json:"oldestReadySeconds"`
	OldestProcessingSeconds *seconds `json:"oldestProcessingSeconds"`
	UnfinishedSeconds       *seconds `json:"unfinishedSeconds"`
	// NextDueSeconds is in how long the next delay ends; nil if nothing waits, or the queue
	// is one of several.
	NextDueSeconds *seconds `json:"nextDueSeconds"`
	// Skew is the adds of the busiest shard, divided by the mean.
	Skew float64 `json:"skew"`
}

// counters count since the queue was made. What is nil is not kept by the queue.
type counters struct {
	Added     uint64  `json:"added"`
	Merged    uint64  `json:"merged"`
	Fired     uint64  `json:"fired"`
	Dropped   uint64  `json:"dropped"`
	Canceled  uint64  `json:"canceled"`
	Exceeded  uint64  `json:"exceeded"`
	Rejected  uint64  `json:"rejected"`
	Misused   uint64  `json:"misused"`
	GivenUp   uint64  `json:"givenUp"`
	Retries   *uint64 `json:"retries"`
	BackedOff *uint64 `json:"backedOff"`
	HandedOut *uint64 `json:"handedOut"`
	Done      *uint64 `json:"done"`
}

// values say what a Coalescer has beside its queue of keys.
type values struct {
	// Keys, Weight and Capacity are of what is pending now.
	Keys     int `json:"keys"`
	Weight   int `json:"weight"`
	Capacity int `json:"capacity"`
	// Put, Merged and Exceeded count since it was made.
	Put      uint64 `json:"put"`
	Merged   uint64 `json:"merged"`
	Exceeded uint64 `json:"exceeded"`
	// MergedShare is the part of what was put that was merged.
	MergedShare float64 `json:"mergedShare"`
}

// A detailReport is what is shown of a queue that was selected.
type detailReport struct {
	// Durations is nil without metrics.
	Durations  *durations `json:"durations"`
	Processing []item     `json:"processing"`
	Ready      []item     `json:"ready"`
	Waiting    []item     `json:"waiting"`
	// TimeLeft is how much is left of the delays that are running.
	TimeLeft histogram    `json:"timeLeft"`
	Retried  []failure    `json:"retried"`
	Groups   []group      `json:"groups"`
	Shards   shardsReport `json:"shards"`

	Configuration configuration `json:"configuration"`
}

// durations are the histograms.
type durations struct {
	Queue histogram `json:"queue"`
	Work  histogram `json:"work"`
	Delay histogram `json:"delay"`
}

// A histogram is the distribution of a duration. The quantiles are nil if they lie beyond the
// last bound, and the mean is nil if the sum is more than can be counted.
type histogram struct {
	Count       uint64   `json:"count"`
	SumSeconds  seconds  `json:"sumSeconds"`
	MeanSeconds *seconds `json:"meanSeconds"`
	P50Seconds  *seconds `json:"p50Seconds"`
	P90Seconds  *seconds `json:"p90Seconds"`
	P99Seconds  *seconds `json:"p99Seconds"`
	// Buckets has a bucket for each doubling, from the first that is not empty to the last.
	Buckets []bucket `json:"buckets"`
	// Fine has the buckets that the quantiles are from, eight for each doubling, those that are not empty: who keeps
	// two of them has the quantiles of what was counted between.
	Fine fineBuckets `json:"fine"`
}

// fineBuckets has a column for the bounds, of which the last is nil if there is none, and one for the counts, for which
// see bucket.
type fineBuckets struct {
	AtMostSeconds []*seconds `json:"atMostSeconds"`
	Counts        []uint64   `json:"counts"`
}

// A bucket counts the durations above the bound of the bucket before it, and at most its own,
// which is nil if there is none.
type bucket struct {
	AtMostSeconds *seconds `json:"atMostSeconds"`
	Count         uint64   `json:"count"`
}

// An item is a row about an item.
type item struct {
	Key string `json:"key"`
	// KeyLength is how long the key is in bytes, if it was cut.
	KeyLength int `json:"keyLength,omitempty"`
	// AgeSeconds is for how long it has been in its state; nil if the queue keeps no ages.
	AgeSeconds *seconds `json:"ageSeconds"`
	// DueSeconds is in how long its delay ends; nil if it does not wait.
	DueSeconds *seconds `json:"dueSeconds"`
	Attempts   int      `json:"attempts"`
	// Worker is the number of the worker that has it, or 0.
	Worker int `json:"worker"`
	// Dirty: it will be ready once more after its processing.
	Dirty bool   `json:"dirty"`
	Group string `json:"group"`
	// GroupLength is how long the name of the group is in bytes, if it was cut.
	GroupLength int `json:"groupLength,omitempty"`
	Priority    int `json:"priority"`
	Shard       int `json:"shard"`
	// Stuck: it has been in processing for as long as the queue calls stuck.
	Stuck bool `json:"stuck"`
}

// A failure is a row about an item that failed.
type failure struct {
	Key       string `json:"key"`
	KeyLength int    `json:"keyLength,omitempty"`
	Failures  int    `json:"failures"`
}

// A group is a row about a group of items.
type group struct {
	Group       string `json:"group"`
	GroupLength int    `json:"groupLength,omitempty"`
	Ready       int    `json:"ready"`
	// Share is its part of all that is ready.
	Share      float64 `json:"share"`
	Processing int     `json:"processing"`
	Held       int     `json:"held"`
	Weight     int     `json:"weight"`
	HeldBack   bool    `json:"heldBack"`
	Shard      int     `json:"shard"`
}

// A shardsReport has a column for each quantity, with a place for each shard: a row for each
// would be several times as long. The ages are nil if the queue keeps none.
type shardsReport struct {
	Ready      []int    `json:"ready"`
	Processing []int    `json:"processing"`
	Waiting    []int    `json:"waiting"`
	Held       []int    `json:"held"`
	Added      []uint64 `json:"added"`

	OldestReadySeconds      []seconds `json:"oldestReadySeconds"`
	OldestProcessingSeconds []seconds `json:"oldestProcessingSeconds"`
}

// configuration says how the queue was made.
type configuration struct {
	Item             string  `json:"item"`
	Shards           int     `json:"shards"`
	Routing          string  `json:"routing"`
	Capacity         int     `json:"capacity"`
	TickSeconds      seconds `json:"tickSeconds"`
	StuckSeconds     seconds `json:"stuckSeconds"`
	GroupLimit       int     `json:"groupLimit"`
	LowerLevelEvery  int     `json:"lowerLevelEvery"`
	Groups           bool    `json:"groups"`
	Ages             bool    `json:"ages"`
	Metrics          bool    `json:"metrics"`
	CancelDelayOnAdd bool    `json:"cancelDelayOnAdd"`
	Limiter          string  `json:"limiter"`
	Clock            string  `json:"clock"`
}

func newConfiguration(c shardq.Configuration) configuration {
	return configuration{
		Item: c.Item, Shards: c.Shards, Routing: c.Routing, Capacity: c.Capacity,
		TickSeconds: inSeconds(c.Tick), StuckSeconds: inSeconds(c.StuckAfter),
		GroupLimit: c.GroupLimit, LowerLevelEvery: c.LowerLevelEvery,
		Groups: c.Groups, Ages: c.Ages, Metrics: c.Metrics, CancelDelayOnAdd: c.CancelDelayOnAdd,
		Limiter: c.Limiter, Clock: c.Clock,
	}
}
