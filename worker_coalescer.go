package shardq

import (
	"context"
	"time"
)

// A coalescerSource has Workers take from a [Coalescer]. The processing of a key is that of its
// value, which nobody else has meanwhile, the coalescer neither.
type coalescerSource[K comparable, V any] struct{ *Coalescer[K, V] }

func (s coalescerSource[K, V]) name() string                { return s.queue.name }
func (s coalescerSource[K, V]) log() *logbook               { return s.queue.log }
func (s coalescerSource[K, V]) key(taken Pending[K, V]) any { return taken.Key }
func (s coalescerSource[K, V]) gaveUp()                     { s.queue.shards.GiveUp() }
func (s coalescerSource[K, V]) showing() bool               { return s.queue.configuration.Metrics }
func (s coalescerSource[K, V]) shuttingDown() bool          { return s.queue.ShuttingDown() }

func (s coalescerSource[K, V]) backOff(taken Pending[K, V]) time.Duration {
	return s.queue.backOff(taken.Key)
}

func (s coalescerSource[K, V]) failures(taken Pending[K, V]) int {
	return s.queue.limiter.NumRequeues(taken.Key)
}

func (s coalescerSource[K, V]) forget(taken Pending[K, V]) { s.queue.limiter.Forget(taken.Key) }

func (s coalescerSource[K, V]) done(taken Pending[K, V], from origin) {
	s.queue.shards.DoneAt(taken.Key, from.at)
}

func (s coalescerSource[K, V]) doneBatch(all []Pending[K, V], from origins) {
	s.endBatch(all, from.at)
}

func (s coalescerSource[K, V]) succeeded(taken Pending[K, V], from origin) {
	defer s.done(taken, from)
	s.forget(taken)
}

func (s coalescerSource[K, V]) newDesk() workerDesk[Pending[K, V]] {
	return coalescerDesk[K, V]{s.queue.workforce.newDesk()}
}

func (s coalescerSource[K, V]) take(ctx context.Context) (taken Pending[K, V], from origin, err error) {
	taken.Key, taken.Value, from.at, err = s.Coalescer.take(ctx)
	return taken, from, err
}

func (s coalescerSource[K, V]) takeBatch(ctx context.Context, items []Pending[K, V], from origins) (n int, err error) {
	return s.Coalescer.takeBatch(ctx, items, from.at)
}

func (s coalescerSource[K, V]) takesBack(taken Pending[K, V]) bool {
	return s.Coalescer.takesBack(s.stripeOf(taken.Key))
}

// giveBack lays the value back, or else it is refused: never both. If the user's code panics
// before that, the value goes back nevertheless, with as much of what was asked for as is
// known by then.
func (s coalescerSource[K, V]) giveBack(taken Pending[K, V], from origin, delay time.Duration, refused func()) {
	g := giver[K, V]{c: s.Coalescer, stripe: s.stripeOf(taken.Key), key: taken.Key, value: taken.Value, weight: 1, at: from.at}
	defer func() {
		if g.layBack() {
			g.comeAgain()
		} else {
			refused()
		}
	}()
	g.wait(delay)
	g.weight = s.weightOf(taken.Value)
}

// drain takes what was dropped also if a hook or the clock panics: the workers tell of it.
func (s coalescerSource[K, V]) drain(ctx context.Context, options DrainOptions, dropped *[]Pending[K, V]) (cause error) {
	var keys []K
	returned := false
	defer func() {
		if !returned {
			*dropped = s.collect(keys)
		}
	}()
	cause = s.drainUntil(ctx, options, &keys)
	returned = true
	*dropped = s.takeDropped(keys, cause)
	return cause
}

func (s coalescerSource[K, V]) drained(ctx context.Context, cause error) error {
	if cause == nil {
		s.queue.logEnd()
		return nil
	}
	return s.Coalescer.gaveUp(ctx, cause)
}
