package traces

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
)

// A state is all that the exported methods show of a queue. Most of it shows
// only by changing the queue: a Get finds out which item is ready. So the
// replayer repeats all commands up to there on another queue, takes that apart,
// and throws it away.
type state struct {
	stats      shardq.Stats
	ready      []string
	delayed    []deadline
	processing []string
	dirty      []string
	parked     int
	line       int
	draining   int
	// held says to show Stats.Held, because the scenario has a capacity or
	// watermarks.
	held bool
	// forever counts items whose delays do not expire before the clock ends.
	forever int
	// doubt is not empty if Len contradicts Get.
	doubt string
}

// A deadline is a delayed item, and the time until its delay expires.
type deadline struct {
	item      string
	remaining time.Duration
}

// inspect takes the queue apart.
func (p *player) inspect() state {
	clear(p.userCode.broken)
	settings := &p.scenario.settings
	s := state{
		stats:    p.queue.stats(),
		parked:   len(p.away[getting]),
		line:     len(p.away[adding]),
		draining: p.draining + len(p.away[ending]),
		held:     settings.capacity > 0 || settings.hasWatermarks,
	}
	before := p.observe()
	p.cancelWaiters()
	s.ready = p.takeAll()
	for _, item := range without(p.scenario.items, s.ready) {
		processing, dirty := p.probe(item)
		if processing {
			s.processing = append(s.processing, item)
		}
		if dirty {
			s.dirty = append(s.dirty, item)
		}
	}
	p.end(s.ready...)
	s.delayed, s.forever = p.watch()
	s.doubt = p.doubt + before.differs(s, p.scenario)
	return s
}

// probe calls Done of an item. If the item was not in processing, that is a
// misuse. If it was dirty, it is ready afterwards.
func (p *player) probe(item string) (processing, dirty bool) {
	before := p.queue.stats()
	if p.end(item) != "" || p.queue.stats().Misused > before.Misused {
		return false, false
	}
	again := p.collect()
	p.end(again...)
	return true, slices.Contains(again, item)
}

// patience limits how often time passes without an item becoming ready. A
// queue's timer may fire a few times only to sort far deadlines.
const patience = 1000

// watch lets all delays expire, and notes when they do. The longest delays do
// not: they are longer than a clock can go.
func (p *player) watch() (delayed []deadline, forever int) {
	start := p.time.now()
	for idle := 0; p.queue.stats().Delayed > 0; idle++ {
		if idle > patience || !p.time.advance(p) {
			return delayed, p.queue.stats().Delayed
		}
		items := p.collect()
		for _, item := range items {
			delayed = append(delayed, deadline{item, p.time.now().Sub(start)})
			idle = 0
		}
		p.end(items...)
	}
	return delayed, 0
}

// collect takes all items that have become ready, including those that parked
// workers got.
func (p *player) collect() []string {
	p.settle()
	var items []string
	for _, a := range p.woken {
		if a.reason == "" {
			items = append(items, a.items...)
		}
	}
	p.woken = nil
	return append(items, p.takeAll()...)
}

// end calls Done of items. It returns the panic if a name is of no item.
func (p *player) end(items ...string) string {
	return p.try((*player).done, &command{items: items})
}

// outcome writes the state. What is empty is left out.
func (s state) outcome() outcome {
	lines := outcome{""}
	add := func(what, value string) {
		if value != "" {
			lines = append(lines, what+": "+value)
		}
	}
	add("ready", list(s.ready))
	add("delayed", listDeadlines(s.delayed))
	if s.forever > 0 {
		add("delayed forever", strconv.Itoa(s.forever))
	}
	add("processing", list(sorted(s.processing)))
	add("dirty", list(sorted(s.dirty)))
	add("parked", countOf(s.parked, "worker"))
	add("in line", countOf(s.line, "worker"))
	add("draining", countOf(s.draining, "caller"))
	if len(lines) == 1 {
		lines[0] = "idle"
	}
	if s.held {
		add("held", strconv.Itoa(s.stats.Held))
	}
	add("counts", counts(s.stats))
	add("contradiction", s.doubt+s.contradiction())
	return lines
}

func countOf(n int, thing string) string {
	if n == 0 {
		return ""
	}
	return number(n, thing)
}

// listDeadlines writes the delayed items. Items with the same deadline stand
// together.
func listDeadlines(delayed []deadline) string {
	byTime := map[time.Duration][]string{}
	var times []time.Duration
	for _, d := range delayed {
		if byTime[d.remaining] == nil {
			times = append(times, d.remaining)
		}
		byTime[d.remaining] = append(byTime[d.remaining], d.item)
	}
	slices.SortFunc(times, cmp.Compare[time.Duration])
	var words []string
	for _, d := range times {
		words = append(words, list(sorted(byTime[d]))+" in "+formatDuration(d))
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

// contradiction describes where Stats differs from the items that were found.
func (s state) contradiction() string {
	counted := [3]int{s.stats.Ready, s.stats.Delayed, s.stats.Processing}
	seen := [3]int{len(s.ready), len(s.delayed) + s.forever, len(s.processing)}
	held := s.distinct()
	if counted == seen && (held == s.stats.Held || s.forever > 0) {
		return ""
	}
	return fmt.Sprintf("Stats has Ready, Delayed, Processing %v, Held %d, but there are %v, %d", counted, s.stats.Held, seen, held)
}

// distinct returns the number of different items that were found.
func (s state) distinct() int {
	items := slices.Concat(s.ready, s.processing)
	for _, d := range s.delayed {
		items = append(items, d.item)
	}
	return len(slices.Compact(sorted(items)))
}
