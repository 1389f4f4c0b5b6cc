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

// A state is all that can be seen of a queue, with nothing but its exported methods.
// Most of it can be seen only by changing it: who is ready, by getting them. So a state
// is looked at in a queue to which everything up to there was done once more, and that
// is thrown away afterwards.
type state struct {
	stats      shardq.Stats
	ready      []string
	waiting    []deadline
	processing []string
	dirty      []string
	asleep     int
	line       int
	draining   int
	// held is shown where the scenario has a bound, or watermarks.
	held bool
	// forever counts items that wait for a time that does not come.
	forever int
	// doubt is not empty where Len contradicts Get.
	doubt string
}

// A deadline is an item that waits, and how long it still does.
type deadline struct {
	item      string
	remaining time.Duration
}

// look takes the queue apart.
func (p *player) look() state {
	clear(p.userCode.broken)
	settings := &p.scenario.settings
	s := state{
		stats:    p.queue.stats(),
		asleep:   len(p.away[getting]),
		line:     len(p.away[adding]),
		draining: p.draining + len(p.away[ending]),
		held:     settings.capacity > 0 || settings.hasWatermarks,
	}
	before := p.observe()
	p.emptyLine()
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
	s.waiting, s.forever = p.watch()
	s.doubt = p.doubt + before.differs(s, p.scenario)
	return s
}

// probe ends the processing of an item that may be in processing: if it was not, that
// is a misuse, and if it was dirty, it is ready then.
func (p *player) probe(item string) (processing, dirty bool) {
	before := p.queue.stats()
	if p.end(item) != "" || p.queue.stats().Misused > before.Misused {
		return false, false
	}
	again := p.collect()
	p.end(again...)
	return true, slices.Contains(again, item)
}

// patience is how often time may go on without an item becoming ready: a queue's timer
// may fire to sort far deadlines, but not for ever.
const patience = 1000

// watch lets all delays end, and notes when they do. Some may not: the longest delays
// end later than a clock can say.
func (p *player) watch() (waiting []deadline, forever int) {
	start := p.time.now()
	for idle := 0; p.queue.stats().Waiting > 0; idle++ {
		if idle > patience || !p.time.advance(p) {
			return waiting, p.queue.stats().Waiting
		}
		items := p.collect()
		for _, item := range items {
			waiting = append(waiting, deadline{item, p.time.now().Sub(start)})
			idle = 0
		}
		p.end(items...)
	}
	return waiting, 0
}

// collect returns all items that have become ready, whoever has them now.
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

// end calls Done of items. It may panic, for some are no items; then it says so.
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
	add("waiting", listDeadlines(s.waiting))
	if s.forever > 0 {
		add("waiting for ever", strconv.Itoa(s.forever))
	}
	add("processing", list(sorted(s.processing)))
	add("dirty", list(sorted(s.dirty)))
	add("asleep", countOf(s.asleep, "worker"))
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

// listDeadlines writes who waits, with those together that wait equally long.
func listDeadlines(waiting []deadline) string {
	byTime := map[time.Duration][]string{}
	var times []time.Duration
	for _, d := range waiting {
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
		{"added", stats.Added}, {"merged", stats.Merged}, {"fired", stats.Fired},
		{"dropped", stats.Dropped}, {"rejected", stats.Rejected}, {"misused", stats.Misused},
		{"canceled", stats.Canceled}, {"exceeded", stats.Exceeded}, {"groups", uint64(stats.Groups)}, {"held back", uint64(stats.HeldBack)},
	} {
		if counter.value > 0 {
			words = append(words, fmt.Sprintf("%s %d", counter.name, counter.value))
		}
	}
	return strings.Join(words, ", ")
}

// contradiction says where Stats counted something else than there is.
func (s state) contradiction() string {
	counted := [3]int{s.stats.Ready, s.stats.Waiting, s.stats.Processing}
	seen := [3]int{len(s.ready), len(s.waiting) + s.forever, len(s.processing)}
	held := s.distinct()
	if counted == seen && (held == s.stats.Held || s.forever > 0) {
		return ""
	}
	return fmt.Sprintf("Stats has Ready, Waiting, Processing %v, Held %d, but there are %v, %d", counted, s.stats.Held, seen, held)
}

// distinct returns how many different items were seen.
func (s state) distinct() int {
	items := slices.Concat(s.ready, s.processing)
	for _, d := range s.waiting {
		items = append(items, d.item)
	}
	return len(slices.Compact(sorted(items)))
}
