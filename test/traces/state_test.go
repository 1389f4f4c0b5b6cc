package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// state shows all that can be seen of the queue. What is empty is left out.
func (p *player) state(*command) string {
	st, settings := p.queue.Stats(), &p.scenario.settings
	add := func(what, value string) {
		if value != "" {
			p.below = append(p.below, what+": "+value)
		}
	}
	var ready, processing, dirty []string
	delays := map[time.Time][]string{}
	for _, of := range []stats.State{stats.Ready, stats.Processing, stats.Delayed} {
		for row := range p.queue.All(of) {
			name := nameOf(row.Item)
			switch row.State {
			case stats.Ready:
				ready = append(ready, name)
			case stats.Processing:
				processing = append(processing, name)
			}
			if row.Dirty {
				dirty = append(dirty, name)
			}
			if !row.Deadline.IsZero() {
				delays[row.Deadline] = append(delays[row.Deadline], name)
			}
		}
	}
	add("ready", list(ready))
	add("delayed", p.listDelays(delays))
	add("processing", list(sorted(processing)))
	add("dirty", list(sorted(dirty)))
	add("parked", countOf(len(p.away[getting]), "worker"))
	add("in line", countOf(len(p.away[adding]), "worker"))
	add("draining", countOf(len(p.away[ending]), "caller"))
	idle := ""
	if len(p.below) == 0 {
		idle = "idle"
	}
	if settings.capacity > 0 || settings.watermarks != nil {
		add("held", strconv.Itoa(st.Held))
	}
	add("counts", counts(st))
	return idle
}

func countOf(n int, thing string) string {
	if n == 0 {
		return ""
	}
	return number(n, thing)
}

// listDelays writes the delayed items. Items with the same deadline stand
// together.
func (p *player) listDelays(delays map[time.Time][]string) string {
	var times []time.Time
	for at := range delays {
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	var words []string
	for _, at := range times {
		words = append(words, list(sorted(delays[at]))+strings.Replace(" in "+p.until(at), " in forever", " forever", 1))
	}
	return strings.Join(words, ", ")
}

// counts writes the counters that are not 0.
func counts(stats shardq.Stats) string {
	var words []string
	for _, counter := range []struct {
		name  string
		value uint64
	}{
		{"added", stats.Added}, {"deduplicated", stats.Deduplicated}, {"expired", stats.Expired},
		{"dropped", stats.Dropped}, {"rejected", stats.Rejected}, {"misused", stats.Misused},
		{"canceled", stats.Canceled}, {"over capacity", stats.OverCapacity}, {"groups", uint64(stats.Groups)},
		{"throttled", uint64(stats.Throttled)},
	} {
		if counter.value > 0 {
			words = append(words, fmt.Sprintf("%s %d", counter.name, counter.value))
		}
	}
	return strings.Join(words, ", ")
}
