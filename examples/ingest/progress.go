package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// showProgress shows the progress every second, until the caller calls the
// returned function.
func (j *job) showProgress() (end func()) {
	ended := make(chan struct{})
	go func() {
		for ticks := time.Tick(time.Second); ; {
			select {
			case <-ticks:
				j.log.Print(j.progress())
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

func (j *job) progress() string {
	p, events := j.pipeline, j.read.events.Load()
	text := fmt.Sprintf("%s, %s/s, %s, %s pending, %s of %s begun", plural(events, "event"),
		short(float64(events)/time.Since(p.start).Seconds()), plural(p.writes.Load(), "write"), plural(p.events.Len(), "key"),
		short(float64(min(int(j.files.Load()), len(j.input.files)))), plural(len(j.input.files), "file"))
	if retries := p.retries.Load(); retries > 0 {
		text += ", " + plural(retries, "retry")
	}
	return text
}

// plural returns a number with its noun.
func plural[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun = strings.ReplaceAll(noun+"s", "trys", "tries")
	}
	return short(float64(n)) + " " + noun
}

// short formats a number in at most six characters.
func short(n float64) string {
	return strings.ReplaceAll(humanize.SIWithDigits(n, 1, ""), " ", "")
}
