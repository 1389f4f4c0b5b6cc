package cluster

import "context"

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
