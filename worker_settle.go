package shardq

import (
	"errors"
	"time"
)

// An outcome is what came of an attempt.
type outcome struct {
	err       error // nil: success
	permanent bool
	requeue   bool // after delay
	delay     time.Duration
	// priority is that with which the item came, and is to come again.
	priority int
}

// outcomeOf reads what a handler returned. It runs the methods of the user's error, and so
// has to be called where a panic is taken for the handler's.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	result := outcome{err: err}
	if _, permanent := errors.AsType[*permanent](err); permanent {
		result.permanent = true
	} else if after, requeue := errors.AsType[requeue](err); requeue {
		result.requeue, result.delay = true, time.Duration(after)
	}
	return result
}

// outcomeOfPanic is the outcome of an attempt that did not return; recovered is nil after a
// Goexit.
func outcomeOfPanic(recovered any) outcome {
	if recovered == nil {
		return outcome{err: ErrGoexit}
	}
	return outcome{err: panicError(recovered)}
}

// settle sees to everything but the item's Done.
func (w *Workers[T]) settle(item T, result outcome) {
	switch {
	case result.err == nil:
		w.queue.Forget(item)
	case result.requeue:
		w.requeue(item, result)
	default:
		w.failed(w.failure(item, result.err), result)
	}
}

// requeue adds an item that is through for now.
func (w *Workers[T]) requeue(item T, result outcome) {
	added := w.unlessTooLate(item, func() {
		w.queue.Forget(item)
		w.queue.AddWith(item, AddOptions{After: result.delay, Priority: result.priority})
	})
	if !added {
		failure := w.failure(item, result.err)
		w.giveUp(tooLateFor(failure))
	}
}

// failed tells of a failure, and then decides what becomes of the item, also if OnError
// panics or ends the goroutine.
func (w *Workers[T]) failed(f Failure[T], result outcome) {
	defer w.decide(f, result)
	if w.options.OnError != nil {
		w.options.OnError(f)
	}
}

func (w *Workers[T]) decide(f Failure[T], result outcome) {
	exhausted := w.options.MaxAttempts > 0 && f.Attempt >= w.options.MaxAttempts
	if result.permanent || exhausted {
		w.giveUp(f)
		return
	}
	again := AddOptions{RateLimited: true, Priority: result.priority}
	if !w.unlessTooLate(f.Item, func() { w.queue.AddWith(f.Item, again) }) {
		w.giveUp(tooLateFor(f))
	}
}

// unlessTooLate adds an item again, and reports whether it will surely come. No shutdown
// that began meanwhile can drop it unseen: if there is none before and none after, the add
// was not dropped. If there is one after, it may have been, or taken in and then dropped,
// as one that waits.
func (w *Workers[T]) unlessTooLate(item T, add func()) bool {
	if w.queue.ShuttingDown() {
		return false
	}
	w.addOrElse(item, add)
	if !w.queue.ShuttingDown() {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uncertain = append(w.uncertain, item)
	return false
}

// addOrElse adds an item. If the user's code that has a say in when it comes panics, the
// item comes at once: it must not be lost beside the panic.
func (w *Workers[T]) addOrElse(item T, add func()) {
	added := false
	defer func() {
		if !added {
			w.queue.Add(item)
		}
	}()
	add()
	added = true
}

// failure says how often the item was tried. If the limiter panics, the item comes again.
func (w *Workers[T]) failure(item T, err error) Failure[T] {
	f := Failure[T]{Queue: w.queue.name, Item: item, Err: err}
	w.addOrElse(item, func() { f.Attempt = w.queue.NumRequeues(item) + 1 })
	return f
}

func tooLateFor[T comparable](f Failure[T]) Failure[T] {
	f.Err = &tooLate{f.Err}
	return f
}

// giveUp tells of an item that is given up, and forgets it.
func (w *Workers[T]) giveUp(f Failure[T]) {
	defer w.queue.Forget(f.Item)
	if w.options.OnGiveUp != nil {
		w.options.OnGiveUp(f)
	}
}

// reportDropped tells of what a drain dropped, but of what was told of already when it was
// requeued.
func (w *Workers[T]) reportDropped(items []T) {
	told := map[T]bool{}
	w.mu.Lock()
	for _, item := range w.uncertain {
		told[item] = true
	}
	w.mu.Unlock()
	forEach(len(items), func(i int) {
		if item := items[i]; !told[item] {
			w.giveUp(Failure[T]{Queue: w.queue.name, Item: item, Err: errWaited, Attempt: w.queue.NumRequeues(item)})
		}
	})
}

// forEach calls do with 0 to n-1, all of them, also if a call panics or ends the goroutine:
// the others come while that is under way.
func forEach(n int, do func(i int)) { forEachFrom(0, n, do) }

func forEachFrom(next, n int, do func(i int)) {
	defer func() {
		if next < n {
			forEachFrom(next, n, do)
		}
	}()
	for next < n {
		i := next
		next++
		do(i)
	}
}
