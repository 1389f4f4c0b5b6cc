package debugpage

import (
	"math"
	"time"

	"github.com/shardq/shardq"
)

// schemaVersion is the version of the JSON answers. A new field does not change
// it. A renamed field, or one with a new meaning, does.
const schemaVersion = 2

// A report has everything that the page shows, in any format.
// docs/reference/debugpage.md describes each field of its JSON.
type report struct {
	Version          int           `json:"version"`
	Title            string        `json:"title"`
	Time             time.Time     `json:"time"`
	TookSeconds      seconds       `json:"tookSeconds"`
	NotShown         int           `json:"notShown"`
	ProblemsNotShown int           `json:"problemsNotShown"`
	Queues           []queueReport `json:"queues"`
	// one is the only queue of a report with its detail, or nil in an overview.
	one *named
}

// An entry is an object of the JSON. The tables find their values in it by the
// names, as the script does. What the queue does not know is nil.
type entry = map[string]any

// A queueReport has what is shown of a queue.
type queueReport struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Instance string  `json:"instance"`
	Fault    string  `json:"fault,omitempty"`
	State    string  `json:"state"`
	Verdict  verdict `json:"verdict"`
	Gauges   entry   `json:"gauges"`
	Counters entry   `json:"counters"`
	// Values is nil unless the queue is that of a Coalescer.
	Values entry         `json:"values"`
	Detail *detailReport `json:"detail,omitempty"`
	// Found has the items that the request selects, in place of Detail.
	Found *foundReport `json:"found,omitempty"`
	// asked is the number of rows that the request asks for, or 0. The links to
	// other pages of the queue keep it.
	asked int
}

// A detailReport has what is shown only of the selected queue.
type detailReport struct {
	Durations       *durations `json:"durations"` // nil without metrics
	Processing      []entry    `json:"processing"`
	Ready           []entry    `json:"ready"`
	Delayed         []entry    `json:"delayed"`
	TimeLeft        histogram  `json:"timeLeft"`
	Retried         []entry    `json:"retried"`
	Groups          []entry    `json:"groups"`
	Attempts        []entry    `json:"attempts"`
	AttemptsByGroup []entry    `json:"attemptsByGroup"`
	Failures        []entry    `json:"failures"`
	Discards        []entry    `json:"discards"`
	// Shards has a column for each quantity, with one value for each shard.
	// Rows would be several times as long.
	Shards        entry `json:"shards"`
	Configuration entry `json:"configuration"`
	options       shardq.Configuration
}

// seconds is a duration in seconds, the unit of all durations in the report.
type seconds float64

func inSeconds(d time.Duration) seconds { return seconds(d.Seconds()) }

// duration returns the duration, limited to those that exist.
func (s seconds) duration() time.Duration {
	nanoseconds := math.Round(float64(s) * float64(time.Second))
	if nanoseconds >= math.MaxInt64 { // the conversion would overflow
		return math.MaxInt64
	}
	return time.Duration(max(nanoseconds, math.MinInt64))
}

// known returns a value, or nil if it is not known.
func known[V any](value V, is bool) any {
	if !is {
		return nil
	}
	return value
}

// until returns the seconds from one time to another, or nil if one of them is
// not known.
func until(from, to time.Time) any {
	return known(inSeconds(max(to.Sub(from), 0)), !from.IsZero() && !to.IsZero())
}

func ratio(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
