package ledger

// Own makes the caller the owner of a key, and reports whether it was free. The
// owner calls Disown, or Expect before an add, and at last Leave or TakenBack.
func (l *Ledger) Own(key int) bool { return l.keys[key].use.CompareAndSwap(0, claimed) }

// Disown gives a key back that the owner has not added.
func (l *Ledger) Disown(key int) { l.keys[key].use.Store(0) }

// Expect is called before the owner's add: the key will run once, not before
// due. With takesBack, the owner may cancel it.
func (l *Ledger) Expect(key int, due int64, takesBack bool) (number int64) {
	r := &l.keys[key]
	r.once.Store(takesBack)
	r.due.Store(due)
	r.owed.Store(1)
	return l.Want(key)
}

// Leave is called when the owner goes. The key is free after its run.
func (l *Ledger) Leave(key int) { l.keys[key].use.Add(1 - claimed) }

// TakenBack is called when the queue has said that the key will not run.
func (l *Ledger) TakenBack(key int, why string) {
	r := &l.keys[key]
	l.Excuse(key)
	l.check(r.owed.Add(-1) != 0 && !l.Hurried.Load(),
		"%s: key %d ran, and the queue said that it would not", why, key)
	r.use.Store(0)
}

// Unsure is called after an add of the owner, or of the holder, that a shutdown
// may have refused.
func (l *Ledger) Unsure(key int) { l.of(key).unsure.Store(true) }

// Ran is called after the last Done of a key.
func (l *Ledger) Ran(key int) {
	if l.Owned(key) {
		l.keys[key].use.Add(-1)
	}
}

// MayRetry reports whether the holder of a key may add it again.
func (l *Ledger) MayRetry(key int) bool { return !l.of(key).once.Load() }

// Again is End for a key that its holder adds again, not before due, with that
// many failures.
func (l *Ledger) Again(key int, due int64, failures int32) (number int64) {
	if r := l.of(key); l.Owned(key) {
		r.due.Store(due)
		r.owed.Add(1)
		r.failures.Store(failures)
	}
	number = l.Want(key)
	l.End(key)
	return number
}

// NotAgain is called for a key that was to run again, and does not: it was
// refused, or a drain has dropped it.
func (l *Ledger) NotAgain(key int) {
	r := l.of(key)
	l.Excuse(key)
	l.check(r.wanted.Load() == 0, "drain: key %d was dropped, and was not added", key)
	if l.Owned(key) {
		r.owed.Add(-1)
		r.failures.Store(0)
		l.Ran(key)
	}
}

// Finish is End for a key whose failures are forgotten.
func (l *Ledger) Finish(key int) {
	l.of(key).failures.Store(0)
	l.End(key)
}

// Failures returns how often a key has failed. It is 0 for a key without owner.
func (l *Ledger) Failures(key int) int32 { return l.of(key).failures.Load() }

// CheckFailures is called by the holder of a key with what the queue says.
func (l *Ledger) CheckFailures(key, got int) {
	r := l.of(key)
	want := int(r.failures.Load())
	l.check(got != want && l.Owned(key),
		"retries: key %d has failed %d times, and the queue says %d", key, want, got)
}
