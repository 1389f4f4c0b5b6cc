package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
)

// progress counts the work so far. It is safe for concurrent use.
type progress struct {
	start   time.Time
	size    int64        // of the input in bytes, 0 if it is unknown
	pending func() int   // keys
	bytes   atomic.Int64 // read
	events  atomic.Int64
	writes  atomic.Int64
	retries atomic.Int64
	depth   atomic.Int64 // the greatest sample
	drain   atomic.Int64 // pending keys when reading ended; 0 before
}

// sampleDepth records the number of ready keys. The readers call it after each
// piece, and the workers before each transaction, when the number is greatest.
func (p *progress) sampleDepth(events *events) {
	now := int64(events.Queue().Len())
	for {
		most := p.depth.Load()
		if now <= most || p.depth.CompareAndSwap(most, now) {
			return
		}
	}
}

// startDrain records that reading has ended.
func (p *progress) startDrain() { p.drain.Store(max(1, int64(p.pending()))) }

// share returns the progress and the total, or 0 if it is unknown: bytes while
// reading, and then keys.
func (p *progress) share() (done, total int64, draining bool) {
	if total := p.drain.Load(); total > 0 {
		return total - int64(p.pending()), total, true
	}
	return p.bytes.Load(), p.size, false
}

// line returns the progress as one line.
func (p *progress) line() string {
	rate := float64(p.events.Load()) / time.Since(p.start).Seconds()
	text := fmt.Sprintf("%s events, %s/s, %s writes, %s keys pending",
		short(float64(p.events.Load())), short(rate),
		short(float64(p.writes.Load())), short(float64(int64(p.pending()))))
	if retries := p.retries.Load(); retries > 0 {
		text += fmt.Sprintf(", %s retries", short(float64(retries)))
	}
	return text
}

// brief returns the progress in a short form, for beside a bar.
func (p *progress) brief() string {
	if p.drain.Load() > 0 {
		return fmt.Sprintf("draining, %s keys to go", short(float64(int64(p.pending()))))
	}
	rate := float64(p.events.Load()) / time.Since(p.start).Seconds()
	return fmt.Sprintf("reading, %s events, %s/s", short(float64(p.events.Load())), short(rate))
}

// short formats a number in at most six characters.
func short(n float64) string {
	return strings.ReplaceAll(humanize.SIWithDigits(n, 1, ""), " ", "")
}
