package traces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/shardq/shardq/limiter"
)

// limiterUsage lists what can follow "with limiter".
const limiterUsage = `want one of
	exponential BASE MAX
	fast-slow FAST SLOW ATTEMPTS
	bucket PER-SECOND BURST
	backoff DURATION FACTOR STEPS CAP
	default-controller
	default-item-based
several with "and" between them, for the longest of their delays; and then "forgotten
after DURATION", "at most DURATION"`

// newLimiter returns the limiter that a text describes, or nil for the queue's
// default.
func newLimiter[T comparable](text string, options limiter.Options) (limiter.Limiter[T], error) {
	if text == "" {
		return nil, nil
	}
	text, most, bounded := strings.Cut(text, " at most ")
	text, forget, forgets := strings.Cut(text, " forgotten after ")
	l := arguments{}
	if forgets {
		options.ForgetAfter = l.duration(forget)
	}
	var longest []limiter.Limiter[T]
	for part := range strings.SplitSeq(text, " and ") {
		longest = append(longest, simpleLimiter[T](&l, strings.Fields(part), options))
	}
	bound := time.Duration(0)
	if bounded {
		bound = l.duration(most)
	}
	if l.err != nil {
		return nil, fmt.Errorf("%w: %s", l.err, limiterUsage)
	}
	result := longest[0]
	if len(longest) > 1 {
		result = limiter.NewMaxOf(longest...)
	}
	if bounded {
		result = limiter.NewWithMaxWait(result, bound)
	}
	return result, nil
}

// simpleLimiter returns the limiter that the words name, with their arguments.
func simpleLimiter[T comparable](a *arguments, words []string, options limiter.Options) limiter.Limiter[T] {
	words = slices.Concat(words, make([]string, 5)) // missing arguments are empty
	switch words[0] {
	case "exponential":
		return limiter.NewExponential[T](a.duration(words[1]), a.duration(words[2]), options)
	case "fast-slow":
		return limiter.NewFastSlow[T](a.duration(words[1]), a.duration(words[2]), a.number(words[3]), options)
	case "bucket":
		bucket := rate.NewLimiter(rate.Limit(a.number(words[1])), a.number(words[2]))
		return limiter.NewBucket[T](bucket, options)
	case "backoff":
		return limiter.NewItemBackoff[T](limiter.Backoff{
			Duration: a.duration(words[1]),
			Factor:   float64(a.number(words[2])),
			Steps:    a.number(words[3]),
			Cap:      a.duration(words[4]),
		}, options)
	case "default-controller":
		return limiter.DefaultController[T](options)
	case "default-item-based":
		return limiter.DefaultItemBased[T](options)
	}
	a.fail(fmt.Errorf("no limiter %q", words[0]))
	return limiter.DefaultItemBased[T]()
}

// arguments reads words, and keeps the first fault.
type arguments struct{ err error }

func (a *arguments) duration(word string) time.Duration {
	d, err := parseDuration(word)
	a.fail(err)
	return d
}

func (a *arguments) number(word string) int {
	n, err := strconv.Atoi(word)
	a.fail(err)
	return n
}

func (a *arguments) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}
