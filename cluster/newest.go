package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Each add of a pending key moves it to the end of its partition, so a key that
// is added often would never get a turn beside a backlog. But then it is often
// the newest of all. So an owner whose places are taken also takes the newest,
// after so many runs and not more often than that. In the owner's queue the key
// keeps its place.
const (
	newestRuns  = 8
	newestPause = 50 * time.Millisecond
)

// A newestMessage was read, and not delivered: that it is acknowledged deletes it,
// unless the key was added again.
type newestMessage struct {
	jetstream.Msg // the other methods, which nobody calls
	*jetstream.RawStreamMsg
	delete func(sequence uint64) error
}

func (m newestMessage) Subject() string      { return m.RawStreamMsg.Subject }
func (m newestMessage) Headers() nats.Header { return m.Header }
func (m newestMessage) Data() []byte         { return m.RawStreamMsg.Data }
func (m newestMessage) Ack() error           { return m.delete(m.Sequence) }
func (m newestMessage) InProgress() error    { return nil }

// isCrowded reports whether keys may wait for a place of this node.
func (p *partition[K]) isCrowded() bool {
	o := &p.node.options
	return !o.Values && p.held.Len() >= (o.maxTaken()+1)/2
}

// wantsNewestLocked is asked at the end of each run.
func (p *partition[K]) wantsNewestLocked() bool {
	if p.runs++; p.runs < newestRuns || time.Since(p.tookNewest) < newestPause {
		return false
	}
	p.runs, p.tookNewest = 0, time.Now()
	return true
}

func (p *partition[K]) takeNewest() {
	ctx, cancel := context.WithTimeout(p.feed.ctx, attemptTime)
	defer cancel()
	info, err := p.node.info(ctx, p.feed.stream) // to ask by a pattern would cost a scan of all subjects
	if err != nil || p.held.Holds(info.State.LastSeq) {
		return // the next time will do as well
	}
	m, err := p.feed.stream.GetMsg(ctx, info.State.LastSeq)
	if err != nil {
		return // it is done, perhaps
	}
	p.take(newestMessage{RawStreamMsg: m, delete: func(sequence uint64) error {
		ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
		defer cancel()
		return p.feed.stream.DeleteMsg(ctx, sequence)
	}}, m.Sequence)
}
