package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// Each add of a pending key moves it to the end of its partition, so a key that
// is added often would never get a turn beside a backlog. So an owner whose places
// are taken hears adds as they are sent, and takes keys that were added again
// out of turn: one after so many runs, and not more often than that. In the
// owner's queue the key keeps its place.
const (
	movedRuns  = 8
	movedPause = 10 * time.Millisecond
	maxMoved   = 1024  // that wait for the owner to take them
	maxHeard   = 16384 // of the last adds, at least so many are known
)

// A crowd has the keys of a crowded partition that were added again.
type crowd struct {
	places int           // that the partition has on its node
	turn   chan struct{} // gets a value when the reader is to look at the crowd

	mu            sync.Mutex
	hears         bool
	runs          int // since the last turn
	last          time.Time
	heard, before map[uint64]struct{} // hashes of subjects
	moved         []string            // subjects, first the one that has waited for longest
	isMoved       map[string]bool
}

func newCrowd(places int) *crowd { return &crowd{places: places, turn: make(chan struct{}, 1)} }

// ran is called at the end of each run.
func (c *crowd) ran(held int) {
	c.mu.Lock()
	c.runs++
	is := c.isLocked(held)
	due := is != c.hears || is && len(c.moved) > 0 && c.runs >= movedRuns && time.Since(c.last) >= movedPause
	if due {
		c.runs, c.last = 0, time.Now()
	}
	c.mu.Unlock()
	if due {
		wake(c.turn)
	}
}

// isLocked reports whether keys may wait for a place. It ends later than it begins.
func (c *crowd) isLocked(held int) bool {
	part := 2
	if c.hears {
		part = 8
	}
	return held >= max(1, c.places/part)
}

// listens changes whether adds are heard, if held keys are many or few.
func (c *crowd) listens(held int) (hears, changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.isLocked(held)
	if changed = is != c.hears; changed {
		c.setLocked(is)
	}
	return is, changed
}

func (c *crowd) setLocked(hears bool) {
	c.hears, c.heard, c.before, c.moved, c.isMoved = hears, map[uint64]struct{}{}, nil, nil, map[string]bool{}
}

// hear notes an add.
func (c *crowd) hear(subject string) {
	hash := xxhash.Sum64String(subject)
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.heard[hash]
	_, was := c.before[hash]
	switch {
	case !is && !was:
		if len(c.heard) == maxHeard {
			c.heard, c.before = map[uint64]struct{}{}, c.heard
		}
		c.heard[hash] = struct{}{}
	case !c.isMoved[subject] && len(c.moved) < maxMoved:
		c.isMoved[subject] = true
		c.moved = append(c.moved, subject)
	}
}

func (c *crowd) next() (subject string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.moved) == 0 {
		return "", false
	}
	subject, c.moved = c.moved[0], c.moved[1:]
	hash := xxhash.Sum64String(subject)
	delete(c.isMoved, subject)
	delete(c.heard, hash)
	delete(c.before, hash)
	return subject, true
}

// lookAtCrowd is for the goroutine that reads.
func (p *partition[K]) lookAtCrowd() {
	switch hears, changed := p.crowd.listens(p.held.Len()); {
	case changed && hears:
		pattern := p.node.names.Of(names.Work, p.lease.Partition)
		adds, err := p.node.connection.Subscribe(pattern, func(m *nats.Msg) { p.crowd.hear(m.Subject) })
		if err == nil { // otherwise the connection is closed
			p.adds = adds
		}
	case changed:
		p.stopHearing()
	case hears:
		p.takeMoved()
	}
}

func (p *partition[K]) stopHearing() {
	if p.adds != nil {
		_ = p.adds.Unsubscribe()
		p.adds = nil
	}
}

// A movedMessage was read, and not delivered: that it is acknowledged deletes it,
// unless the key was added again.
type movedMessage struct {
	jetstream.Msg // the other methods, which nobody calls
	*jetstream.RawStreamMsg
	delete func(sequence uint64) error
}

func (m movedMessage) Subject() string      { return m.RawStreamMsg.Subject }
func (m movedMessage) Headers() nats.Header { return m.Header }
func (m movedMessage) Data() []byte         { return m.RawStreamMsg.Data }
func (m movedMessage) Ack() error           { return m.delete(m.Sequence) }
func (m movedMessage) InProgress() error    { return nil }

func (p *partition[K]) takeMoved() {
	subject, ok := p.crowd.next()
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(p.feed.ctx, attemptTime)
	defer cancel()
	m, err := p.feed.stream.GetLastMsgForSubject(ctx, subject)
	if err != nil || p.held.Holds(m.Sequence) {
		return // it is done, perhaps
	}
	p.take(movedMessage{RawStreamMsg: m, delete: func(sequence uint64) error {
		ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
		defer cancel()
		return p.feed.stream.DeleteMsg(ctx, sequence)
	}}, m.Sequence)
}
