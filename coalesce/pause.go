package coalesce

import (
	"time"

	"github.com/shardq/shardq"
)

// Pause stops the coalescer from handing out values, as [shardq.Queue.Pause]
// does. It goes on accepting values.
func (c *Coalescer[K, V]) Pause() { c.queue.Pause() }

// Resume ends a Pause: see [shardq.Queue.Resume].
func (c *Coalescer[K, V]) Resume() { c.queue.Resume() }

// SetRate changes the rate at which keys are handed out: see
// [shardq.Queue.SetRate].
func (c *Coalescer[K, V]) SetRate(r shardq.Rate) { c.queue.SetRate(r) }

// PauseGroup stops the values of a group of keys from being handed out: see
// [shardq.Queue.PauseGroup].
func (c *Coalescer[K, V]) PauseGroup(group string, until time.Time) { c.queue.PauseGroup(group, until) }

// ResumeGroup ends the pause of a group: see [shardq.Queue.ResumeGroup].
func (c *Coalescer[K, V]) ResumeGroup(group string) { c.queue.ResumeGroup(group) }

// RefreshGroup asks again for the weight, the limit and the rate of a group:
// see [shardq.Queue.RefreshGroup].
func (c *Coalescer[K, V]) RefreshGroup(group string) { c.queue.RefreshGroup(group) }
