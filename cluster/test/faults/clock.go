package faults

import (
	"time"

	"github.com/shardq/shardq/clock"
)

// jumping is a clock whose time of day jumps by an hour each second.
type jumping struct{ clock.Clock }

func (j *jumping) Now() time.Time {
	now := j.Clock.Now()
	if now.Unix()%2 == 0 {
		return now.Round(0).Add(time.Hour)
	}
	return now.Round(0)
}
