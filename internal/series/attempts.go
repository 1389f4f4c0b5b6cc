package series

import (
	"github.com/shardq/shardq/internal/registry"
	"github.com/shardq/shardq/stats"
)

// Attempts, AttemptDuration and GroupAttempts describe the attempts of workers,
// by their results.
var (
	Attempts = Description{
		"shardq.attempts", "{attempt}",
		"Attempts of workers by result: success, error, panic, timeout, requeue or discarded",
		Counter,
	}
	AttemptDuration = Description{
		"shardq.attempt.duration", "s",
		"Time that attempts of workers took, by result; missing for results that no attempt had",
		Gauge,
	}
	GroupAttempts = Description{
		"shardq.group.attempts", "{attempt}",
		"Attempts of workers at items of a group by result, of the groups with the most attempts; missing for results that no attempt had",
		Counter,
	}
)

// A Result has the durations of the attempts with a result.
type Result struct {
	Name      string
	Durations stats.Histogram
}

// Results returns the attempts of a queue by result. All results are among
// them.
func Results(m *stats.Metrics) []Result {
	results := make([]Result, 0, stats.Results)
	for r, durations := range m.Attempts.All() {
		results = append(results, Result{r.String(), *durations})
	}
	return results
}

// A GroupResult is the number of attempts at a group's items with a result.
type GroupResult struct {
	Group, Result string
	Attempts      uint64
}

// GroupResults returns the attempts of at most limit groups: see
// [registry.Reading.GroupAttempts].
func GroupResults(r *registry.Reading, limit int) []GroupResult {
	var all []GroupResult
	for group, g := range r.GroupAttempts(limit) {
		for result, n := range g.Counts {
			if n > 0 {
				all = append(all, GroupResult{group, stats.Result(result).String(), n})
			}
		}
	}
	return all
}
