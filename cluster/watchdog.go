package cluster

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/shardq/shardq/cluster/internal/names"
)

// maxMissed is the number of checks in a row that may miss a message.
const maxMissed = 3

// A watchdog finds messages that are not delivered, because a server has lost
// track of what its consumer has to deliver. Servers have had such mistakes.
// One goroutine uses it.
type watchdog struct {
	// oldest is the oldest message at the last check, and missed how many
	// checks in a row have missed a message.
	oldest uint64
	missed int
}

// isLost takes in a check. It reports whether maxMissed checks in a row have
// missed a message, while the oldest one stayed the same.
func (w *watchdog) isLost(oldest uint64, misses bool) bool {
	if !misses || oldest != w.oldest {
		w.missed = 0
	}
	if w.oldest = oldest; !misses {
		return false
	}
	w.missed++
	if w.missed < maxMissed {
		return false
	}
	w.missed = 0
	return true
}

// misses reports whether the consumer of a partition has lost a message: its
// owner does not have the oldest one, or the consumer counts fewer messages
// than there are. Only counts between which nothing has changed are compared.
func (f *feed) misses(ctx context.Context, holds func(sequence uint64) bool) (oldest uint64, misses bool, err error) {
	before, err := f.stream.Info(ctx)
	if err != nil || before.State.Msgs == 0 {
		return 0, false, err
	}
	oldest = before.State.FirstSeq
	if !holds(oldest) {
		return oldest, true, nil
	}
	c, err := f.stream.Consumer(ctx, ownerConsumer)
	if err != nil {
		return oldest, false, err
	}
	counted := c.CachedInfo()
	after, err := f.stream.Info(ctx)
	if err != nil {
		return oldest, false, err
	}
	same := before.State.LastSeq == after.State.LastSeq && before.State.Msgs == after.State.Msgs
	return oldest, same && after.State.Msgs > counted.NumPending+uint64(counted.NumAckPending), nil
}

// check begins again if a message of the partition is lost.
func (f *feed) check(ctx context.Context, holds func(sequence uint64) bool) {
	oldest, misses, err := f.misses(ctx, holds)
	if err != nil || !f.watchdog.isLost(oldest, misses) {
		return // after an error, the next check will do as well
	}
	f.logger.Error("the server does not deliver all messages: the partition is read again", "oldest", oldest)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.breakLocked()
}

// watchDue checks the keys that are due until ctx ends.
func (n *Node[K]) watchDue(ctx context.Context) {
	var w watchdog
	ticker := time.NewTicker(n.options.Lease)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, n.options.Lease)
		n.checkDue(attempt, &w)
		cancel()
	}
}

// checkDue has the server deliver all due keys again if it does not deliver the
// oldest. To move one twice is harmless.
func (n *Node[K]) checkDue(ctx context.Context, w *watchdog) {
	oldest, err := n.streams.delayed.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(n.names.All(names.Due)))
	if err != nil || !w.isLost(oldest.Sequence, true) {
		return // none, perhaps
	}
	n.options.Logger.Error("the server does not deliver all keys that are due: they are read again", "oldest", oldest.Sequence)
	if _, err = n.js.ResetConsumerToSequence(ctx, n.names.DelayedStream(), dueConsumer, 1); err != nil {
		n.options.Logger.Warn("keys that are due are not read again", "error", err)
	}
}
