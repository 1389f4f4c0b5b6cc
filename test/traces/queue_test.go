package traces

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/internal/engine"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/shard"
	"github.com/shardq/shardq/stats"
)

// The reasons why a call returns no item.
const (
	shutDown   = "shutdown"
	isCanceled = "is canceled"
)

// reasonOf describes an error of a call that takes or adds an item.
func reasonOf(item string, err error) string {
	reason, known := map[error]string{
		nil: "", shardq.ErrShutDown: shutDown, context.Canceled: isCanceled,
		shardq.ErrFull: "full", shardq.ErrNotAgain: "not again",
	}[err]
	if !known {
		reason = err.Error()
	}
	if err != nil && item != "" {
		return reason + " with item " + item
	}
	return reason
}

// describeAdd describes the result of an add that may be refused.
func describeAdd(err error) string {
	if err == nil {
		return "is admitted"
	}
	return reasonOf("", err)
}

// newLimiter returns the limiter that a text describes, or nil.
func newLimiter(text string, options limiter.Options) (limiter.Limiter[string], error) {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return nil, nil
	case len(words) == 3 && words[0] == "exponential":
		base, err := parseDuration(words[1])
		most, err2 := parseDuration(words[2])
		return limiter.NewExponential[string](base, most, options), errors.Join(err, err2)
	case len(words) == 3 && words[0] == "bucket":
		r, err := parseRate(words[1:2])
		burst, err2 := strconv.Atoi(words[2])
		return limiter.NewBucket[string](rate.NewLimiter(rate.Limit(r.PerSecond), burst), options), errors.Join(err, err2)
	}
	return nil, fmt.Errorf("no limiter %q: want exponential BASE MAX, or bucket PER-SECOND BURST", text)
}

// parseRate reads NUMBER [burst NUMBER].
func parseRate(words []string) (r shardq.Rate, err error) {
	if len(words) == 3 && words[1] == "burst" {
		if r.Burst, err = strconv.Atoi(words[2]); err != nil {
			return r, err
		}
		words = words[:1]
	}
	if len(words) != 1 {
		return r, fmt.Errorf("want a rate: NUMBER [burst NUMBER]")
	}
	r.PerSecond, err = strconv.ParseFloat(words[0], 64)
	return r, err
}

// open makes a queue with the settings of a scenario.
func (p *player) open(l layout) (*shardq.Queue[string], error) {
	s := &p.scenario.settings
	limiter, err := newLimiter(s.limiter, limiter.Options{Clock: p.time.clock()})
	if err != nil {
		return nil, err
	}
	options := shardq.Options[string]{
		Name: s.name, Shards: l.shards, Clock: p.time.clock(), Tick: s.tick,
		Capacity: s.capacity, LowPriorityInterval: s.lowPriority, Rate: s.rate, KeepBackoff: s.flags["KeepBackoff"],
		Ages: s.flags["ages"], Metrics: s.flags["metrics"], StuckAfter: s.stuckAfter,
		OnMisuse: func(m shardq.Misuse[string]) {
			p.reports = append(p.reports, fmt.Sprintf("misuse%s: %s: %s", inQueue(m.Queue), m.Kind, nameOf(m.Item)))
		},
	}
	if limiter != nil {
		options.RateLimiter = limiter
	}
	if s.watermarks != nil {
		options.Watermarks = shardq.Watermarks{Low: s.watermarks[0], High: s.watermarks[1], On: p.watermark}
	}
	if s.stuckAfter > 0 {
		options.OnStuck = func(row stats.Item[string]) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.stuckItems = append(p.stuckItems, row)
		}
	}
	if s.groups {
		options.Group = groupOf
		options.GroupPolicy = func(group string) shardq.GroupPolicy {
			return shardq.GroupPolicy{Weight: s.groupWeights[group], Limit: s.groupLimit, Rate: s.groupRates[group]}
		}
	}
	if len(s.together) > 0 {
		options.Hash = func(item string) uint64 { return uint64(p.scenario.groups[nameOf(item)]) }
	}
	queue, err := shardq.New(options)
	if err == nil {
		engine.Follow(queue, shard.Rules{
			CancelDelayOnAdd: s.flags["CancelDelayOnAdd"], DropDelayIfReady: s.flags["DropDelayIfReady"],
			KeepPlaces: s.flags["KeepPlaces"], DiscardOnShutDown: s.flags["DiscardOnShutDown"],
			DrainProcessingOnly: s.flags["DrainProcessingOnly"], PrioritiesBeforeTurns: s.flags["PrioritiesBeforeTurns"],
		})
	}
	return queue, err
}

// itemOf returns the item of a name: "" is the empty one.
func itemOf(name string) string { return strings.ReplaceAll(name, `"`, "") }

func nameOf(item string) string {
	if item == "" {
		return `""`
	}
	return item
}

func namesOf(items []string) (names []string) {
	for _, item := range items {
		names = append(names, nameOf(item))
	}
	return names
}

func itemsOf(names []string) (items []string) {
	for _, name := range names {
		items = append(items, itemOf(name))
	}
	return items
}

// until returns the time until a moment, or a word if the clock does not reach
// it.
func (p *player) until(at time.Time) string {
	if d := at.Sub(p.time.now()); d < 200*365*24*time.Hour {
		return formatDuration(d)
	}
	return "forever"
}
