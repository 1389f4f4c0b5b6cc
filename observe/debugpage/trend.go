package debugpage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

const (
	trendWindow = time.Minute      // that the trend covers, or more if polls are rare
	rateWindow  = 10 * time.Second // that rates cover
	enough      = 10 * time.Second // of readings, or of waiting, to call a queue steady or late
)

// firstLook is the time between the two readings of a request whose queues the
// handler has not read before.
var firstLook = 250 * time.Millisecond

// A sample has the numbers of a reading that the trend compares.
type sample struct {
	time        time.Time
	ready       int
	added, done uint64
	attempts    uint64
	failed      uint64        // of the attempts
	discarded   uint64        // dead letters
	outages     uint64        // runs of failures
	run         int           // the failures of the run that lasts
	counted     bool          // with metrics
	ownLoop     bool          // no worker reports attempts: they are Dones, and failures are backoffs
	oldest      time.Duration // of the ready items, or negative if it is not known
	throttled   bool          // some groups
	created     bool          // the sample stands for the empty queue when it was made
	pausedReady int           // of the ready items, those of paused groups
	condition   condition     // after the samples before
}

func newSample(s *shardq.Stats, ages bool) sample {
	one := sample{
		time: time.Now(), ready: s.Ready, added: s.Added, done: s.Done, oldest: -1, throttled: s.Throttled > 0,
		discarded: s.Discarded, outages: s.Outages, run: s.OutageFailures,
	}
	for i := range s.PerShard {
		if ages {
			one.oldest = max(one.oldest, s.PerShard[i].OldestReady)
		}
	}
	if one.counted = s.Metrics != nil; one.counted {
		for result, h := range s.Metrics.Attempts.All() {
			one.attempts += h.Count
			if result != stats.Succeeded && result != stats.Requeued {
				one.failed += h.Count
			}
		}
		if one.attempts == 0 {
			one.attempts, one.failed, one.ownLoop = s.Done, min(s.Metrics.Backoffs, s.Done), s.Done > 0
		}
	}
	return one
}

// samples keeps the last samples of each queue, by its number and id.
type samples struct {
	mu sync.Mutex
	of map[string]course
}

// since returns the samples of the window, with now as the last. It keeps a
// thirtieth of a window between two samples, however many pages are open.
func (s *samples) since(key string, now sample, window time.Duration) course {
	s.mu.Lock()
	defer s.mu.Unlock()
	past := slices.DeleteFunc(s.of[key], func(one sample) bool { return now.time.Sub(one.time) > window })
	s.of[key] = past
	late := slices.IndexFunc(past, func(one sample) bool { return now.time.Before(one.time) })
	if late >= 0 { // another request was faster
		past = past[:late]
	}
	if n := len(past); n > 0 && (now.added < past[n-1].added || now.done < past[n-1].done) {
		past = nil // another queue
	}
	all := append(slices.Clone(past), now)
	all.settle()
	now = all.now()
	if late >= 0 {
		return all
	}
	if n := len(past); n == 0 || past[n-1].created || now.time.Sub(past[n-1].time) >= window/30 {
		past = append(past, now)
	}
	s.of[key] = past
	return all
}

// settle gives the last sample its condition.
func (c course) settle() {
	c[len(c)-1].condition = c[max(len(c)-2, 0)].condition.next(c.reads(), c.now().time, c.span())
}

// fresh returns the queues without samples, and forgets those of queues that
// were not read for a window.
func (s *samples) fresh(queues []named, window time.Duration) (without []named) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, past := range s.of {
		if time.Since(past[len(past)-1].time) > window {
			delete(s.of, key)
		}
	}
	return slices.DeleteFunc(slices.Clone(queues), func(n named) bool { return s.of[n.unique()] != nil })
}

func (n named) unique() string { return fmt.Sprintf("%d %s", n.number, n.id) }

func (h *handler) window() time.Duration { return max(trendWindow, 12*h.options.PollEvery) }

// look takes a first reading of queues that the handler has not read before,
// so that the next one has rates. It waits only if some item is ready.
func (h *handler) look(ctx context.Context, queues []named) {
	isReady := false
	for _, n := range h.samples.fresh(queues, h.window()) {
		rd := h.reader(n, 1)
		rd.guarded(func() (q queueReport) {
			s := rd.queue.Stats()
			isReady = isReady || s.Ready > 0
			if created := rd.options.Created; time.Since(created) < trendWindow { // empty then
				h.samples.since(n.unique(), sample{time: created, oldest: -1, created: true}, h.window())
			}
			h.samples.since(n.unique(), newSample(&s, rd.options.Ages), h.window())
			return q
		})
	}
	if isReady {
		wait, stop := context.WithTimeout(ctx, firstLook)
		defer stop()
		<-wait.Done()
	}
}

// A course is the last samples of a queue, oldest first.
type course []sample

func (c course) now() sample         { return c[len(c)-1] }
func (c course) span() time.Duration { return c.now().time.Sub(c[0].time) }
func (c course) growth() int         { return c.now().ready - c[0].ready }

// addRates adds the rates of the last seconds, unless the readings are too
// close to tell.
func (c course) addRates(to entry) {
	recent := c[slices.IndexFunc(c, func(s sample) bool { return c.now().time.Sub(s.time) <= rateWindow && !s.created }):]
	if len(recent) < 2 && len(c) > 1 {
		recent = c[len(c)-2:]
	}
	if first, now := recent[0], c.now(); recent.span() >= max(firstLook, 1) && !first.created {
		rate := func(from, to uint64) float64 { return float64(max(from, to)-from) / recent.span().Seconds() }
		to["addedPerSecond"], to["donePerSecond"] = rate(first.added, now.added), rate(first.done, now.done)
		to["discardedPerSecond"] = rate(first.discarded, now.discarded)
		to["failedPerSecond"] = known(rate(first.failed, now.failed), now.counted)
	}
}

// deadLetters returns how many items were discarded in the window.
func (c course) deadLetters() uint64 { return max(c.now().discarded, c[0].discarded) - c[0].discarded }

// failing returns the share of attempts that failed, of ten or more.
func (c course) failing() float64 {
	if len(c) == 0 || c.now().attempts < c[0].attempts+fewAttempts || c[0].ownLoop && !c.now().ownLoop {
		return 0
	}
	return ratio(c.now().failed-c[0].failed, c.now().attempts-c[0].attempts)
}

// trend says how the number of ready items changes, as a verdict. It is nil if
// nothing is ready, or the samples do not tell.
//
// The depth decides before the age, because the items of an initial list grow
// older until the last of them is done. The last third of the samples decides
// before all of them, because a flood that is over still leaves more than before.
func (c course) trend() *verdict {
	now := c.now()
	if len(c) < 2 || now.ready == 0 {
		return nil
	}
	behind := c // since something is ready
	for i, s := range c {
		if s.ready == 0 {
			behind = c[i+1:]
		}
	}
	if behind.span() >= enough && behind[0].done == now.done {
		return &verdict{Name: "nothing is done", Tone: warn, Text: "nothing is done in " + formatBriefDuration(behind.span())}
	}
	for _, part := range []course{c[min(len(c)*2/3, len(c)-2):], c} {
		if behind := part.fallingBehind(); behind != nil {
			return behind
		}
		if part.direction() < 0 {
			left := time.Duration(float64(max(now.ready-now.pausedReady, 0)) / -part.perMinute() * float64(time.Minute))
			return &verdict{Name: "catching up", Tone: good, Text: "catching up: " + formatChange(part.perMinute()) +
				orNone(left > 0, ", about "+formatBriefDuration(left)+" left", "")}
		}
	}
	if c.span() < enough {
		return nil
	}
	if c.isAging() {
		return &verdict{Name: "falling behind in age", Tone: warn, Text: "falling behind: " + strings.TrimPrefix(oldest(now), ", ") + " and growing"}
	}
	margin := max(10, c[0].ready/10)
	if slices.ContainsFunc(c, func(s sample) bool { return s.ready-c[0].ready > margin || c[0].ready-s.ready > margin }) {
		return &verdict{Name: "up and down", Tone: plain, Text: "up and down: " + formatCount(now.ready) + " ready" + oldest(now)}
	}
	return &verdict{Name: "steady", Tone: plain, Text: "steady: " + formatCount(now.ready) + " ready" + oldest(now)}
}

func (c course) perMinute() float64 { return float64(c.growth()) / c.span().Minutes() }

func (c course) fallingBehind() *verdict {
	if len(c) < 2 || c.direction() <= 0 || !c.isLate() {
		return nil
	}
	return &verdict{Name: "falling behind", Tone: warn, Text: "falling behind: " + formatChange(c.perMinute()) + oldest(c.now())}
}

// direction returns 1 or -1 if the number of ready items grows or falls in both
// halves and at last, and by more than chance: a steady queue varies with the
// square root of its adds and of the items that leave it.
func (c course) direction() int {
	n, growth, added := len(c), c.growth(), int(c.now().added-c[0].added)
	sign, size := cmp.Compare(growth, 0), max(growth, -growth)
	if float64(size) < max(5, 4*math.Sqrt(float64(added+max(added-growth, 0)))) {
		return 0
	}
	for _, part := range []course{c[:n/2+1], c[n/2:], c[min(n*2/3, n-2):]} {
		if len(part) > 1 && 8*sign*part.growth() < size { // a step is no trend
			return 0
		}
	}
	return sign
}

// isLate tells a queue that falls behind from one that has just got a batch.
func (c course) isLate() bool {
	now, done := c.now(), float64(c.now().done-c[0].done)
	if now.oldest >= 0 && now.oldest >= enough || c.span() >= enough {
		return true
	}
	return now.oldest < 0 && float64(now.ready)*c.span().Seconds() >= enough.Seconds()*done
}

// isAging reports whether the oldest ready item grew older by more than half the
// time. The items of a throttled group, and those of a list to which nothing is
// added, grow older in a healthy queue.
func (c course) isAging() bool {
	first, now := c[0], c.now()
	drains := now.added == first.added && (now.ready < first.ready || now.done > first.done)
	throttled := slices.ContainsFunc(c, func(s sample) bool { return s.throttled })
	return first.oldest >= 0 && !drains && !throttled && now.oldest-first.oldest > c.span()/2
}

func oldest(s sample) string {
	return orNone(s.oldest >= time.Second, ", oldest "+formatBriefDuration(s.oldest), "")
}

// formatBriefDuration returns the first part of a duration: 3 m.
func formatBriefDuration(d time.Duration) string {
	parts := strings.SplitN(formatDuration(d), " ", 3)
	return strings.Join(parts[:min(2, len(parts))], " ")
}

// formatChange returns +382/s, or +24/min if it is less than one a second.
func formatChange(perMinute float64) string {
	sign, size := orNone(perMinute > 0, "+", "−"), math.Abs(perMinute)
	if size < 60 {
		return sign + formatCount(int(math.Round(size))) + "/min"
	}
	return sign + formatRate(size/60) + "/s"
}
