package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
)

// A poolModel says what a pool of a queue or a Coalescer must do. It does not say
// which worker takes which item. Its player tells it what was taken.
type poolModel struct {
	poolOptions
	now   time.Time
	items map[int]*poolItem
	// ends says how the end has begun, and retries whether the queue accepts
	// retries since. Timeout is when a drain ends early.
	ends    poolEnd
	retries bool
	timeout time.Time
	dropped []int // by the drain
	drains  bool  // Drain has been called
	stopped bool  // the handlers' contexts have ended
	// left is the number of calls of hooks until one panics or exits.
	left    int
	faulted bool
	armed   string // the function of the limiter that panics at its next call
	// stopping says that a hook has panicked in this step. It is settled before
	// the pool stops, so that an idle worker may take the item.
	stopping bool
	early    bool           // the drain has ended early
	gates    map[int]bucket // of groups, and of the queue at -1
	holding  bool           // each busy worker may hold an item that was too heavy for its batch
	paused   bool
	wanted   int      // the number of workers asked for
	events   []string // what the hooks must have received since the last step
	kept     []string // what the error of Run must have, without OnLeftover
	results  [stats.Results]uint64
	done     []bool // the values, by their offsets
}

type poolOptions struct {
	values   bool // a Coalescer's
	keeps    bool // KeepBackoff, of a queue
	putEnds  bool // PutEndsBackoff, of a Coalescer
	shards   int
	groups   []shardq.GroupPolicy
	workers  int           // at the begin
	until    time.Duration // DrainTimeout
	fault    string        // what a hook does at its last call
	calls    int           // of hooks until then
	most     int           // MaxAttempts
	elapsed  time.Duration // MaxElapsed
	limit    time.Duration // Timeout
	again    bool          // CancelIfAddedAgain
	canceled bool          // CancelIfCanceled
	leftover bool          // OnLeftover is set
	batch    int           // BatchSize, or 0
	weight   int           // BatchWeight
	linger   time.Duration
	own      bool        // the limiter is that of zero options
	rate     shardq.Rate // of the queue, and of its groups in their policies
	drained  bool        // Drain is set
	drain    shardq.DrainOptions
}

type poolEnd uint8

const (
	isOpen    poolEnd = iota
	endsNow           // the context has ended, and there is no drain
	isDrained         // the context has ended, and the pool drains
	isShut            // ShutDown was called
)

// A poolItem is what the model knows of an item.
type poolItem struct {
	ready    bool      // or dirty, if it is taken
	due      time.Time // the end of a delay, or zero
	failures int
	first    time.Time // the first of them
	taken    bool
	claimed  time.Time // when it was taken
	began    time.Time // when the handler was called, or zero
	canceled bool      // since it was taken: nothing that its handler returns makes it ready
	cause    string    // why the context of its handler has ended
	// Of a Coalescer, what was put, with bars between what the next Put or Take merges, and what a
	// worker has.
	pending, value string
	backsOff       bool // it waits for the end of its backoff, whatever is added or put
	serves         bool // that backoff serves adds
	vague          bool // a worker may have taken the values, merged, and given them back
}

// priorityOf returns the priority with which an item is always added.
func priorityOf(item int) int { return item % 3 }

func weightOf(item int) int { return item % 4 }

func weightOfAll(items []int) (sum int) {
	for _, item := range items {
		sum += weightOf(item)
	}
	return sum
}

func (o *poolOptions) backoffOf(failures int) time.Duration {
	if o.own {
		return min(5*time.Millisecond<<min(failures-1, 20), 1000*time.Second)
	}
	return time.Second << min(failures-1, 5)
}

// isClosed reports whether the queue refuses adds.
func (m *poolModel) isClosed() bool { return m.ends == isDrained || m.ends == isShut }

// Add adds an item after a delay, or at once.
func (m *poolModel) Add(item int, delay time.Duration) { // C42
	it := m.items[item]
	if m.isClosed() && !(it.taken && m.retries) {
		return
	}
	if it.backsOff { // C28
		it.serves = true
		return
	}
	if delay <= 0 {
		m.makeReady(it)
		return
	}
	if due := m.now.Add(delay); it.due.IsZero() || due.Before(it.due) {
		it.due = due
	}
}

// Put puts a value, and reports whether it was accepted.
func (m *poolModel) Put(item int, delay time.Duration, value string) bool { // C57, C77
	it := m.items[item]
	if m.isClosed() {
		return false
	}
	m.done = append(m.done, false)
	it.pending = strings.ReplaceAll(it.pending, "|", "") + value
	switch {
	case it.ready, it.backsOff && !m.putEnds:
	case delay <= 0:
		m.makeReady(it)
	default:
		it.due = earliest(it.due, m.now.Add(delay))
	}
	return true
}

// finish says that values are done.
func (m *poolModel) finish(values string) { // C85
	for _, offset := range strings.FieldsFunc(values, func(r rune) bool { return r == '.' || r == '|' }) {
		at, _ := strconv.Atoi(offset)
		m.done[at] = true
	}
}

// safe returns the lowest offset that is not done.
func (m *poolModel) safe() int64 { // C85
	return int64(slices.Index(append(slices.Clone(m.done), false), false))
}

// giveBack puts the value before newer ones.
func (m *poolModel) giveBack(it *poolItem, delay time.Duration) { // C55, C77
	if it.pending != "" {
		it.pending = "|" + it.pending
	}
	it.pending, it.value = it.value+it.pending, ""
	end := m.now.Add(delay)
	switch {
	case delay <= 0:
		it.ready, it.due, it.backsOff = true, time.Time{}, false
	case m.putEnds && !it.ready:
		it.due, it.backsOff = earliest(it.due, end), true
	case !m.putEnds:
		it.ready, it.due, it.backsOff = false, latest(it.due, end), true
	}
}

// panics reports whether a call of a function of the limiter panics. A worker calls
// it, so all workers leave.
func (m *poolModel) panics(function string) bool { // C17, C51
	if m.armed != function {
		return false
	}
	m.armed, m.faulted, m.stopping = "", true, true
	return true
}

// forget forgets the failures of an item, or after a panic only their time.
func (m *poolModel) forget(it *poolItem) (panics bool) { // C17
	if panics = m.panics("Forget"); panics {
		it.first = time.Time{}
	} else {
		it.failures = 0
	}
	return panics
}

// backOff begins the delay of a failed item, which may serve adds until its end.
func (m *poolModel) backOff(item int, delay time.Duration) { // C28
	it := m.items[item]
	if !m.keeps {
		m.Add(item, delay)
		return
	}
	it.serves = it.ready || !it.due.IsZero()
	it.ready, it.due, it.backsOff = false, m.now.Add(delay), true
}

func (m *poolModel) makeReady(it *poolItem) {
	it.ready, it.backsOff, it.serves = true, false, false
	if m.values {
		it.due = time.Time{}
	}
	if it.taken && m.again {
		it.end("added")
	}
}

// end ends the context of a handler.
func (it *poolItem) end(cause string) {
	if it.cause == "" {
		it.cause = cause
	}
}

// Cancel cancels the adds of an item, and its run.
func (m *poolModel) Cancel(item int) { // C39
	it := m.items[item]
	canceled, rest, _ := strings.Cut(it.pending, "|")
	if !m.isClosed() { // C78: after that, values stay apart
		canceled, rest = it.pending, ""
	}
	m.finish(canceled)
	it.failures, it.pending = 0, rest
	if it.pending == "" {
		it.ready, it.due, it.backsOff, it.serves = false, time.Time{}, false, false
	}
	if it.taken {
		it.canceled = true
		if m.canceled {
			it.end("canceled")
		}
	}
}

// Take takes an item that a worker has.
func (m *poolModel) Take(item int) (fault string) { // C49
	it := m.items[item]
	if !it.ready || it.taken || m.paused || m.opens(item).After(m.now) || m.stopped && !m.stopping {
		return fmt.Sprintf("a worker has %d: %+v", item, *it)
	}
	*it = poolItem{due: it.due, failures: it.failures, first: it.first, taken: true, claimed: m.now, value: strings.ReplaceAll(it.pending, "|", "")}
	for _, of := range []int{-1, m.groupOf(item)} {
		gate := m.gates[of]
		gate.spend(time.Duration(m.now.UnixNano()), 1)
		m.gates[of] = gate
	}
	return ""
}

// opens returns when the rates of the queue and of the group let an item out.
func (m *poolModel) opens(item int) time.Time { // C67, C69
	return latest(m.opensAt(-1), m.opensAt(m.groupOf(item)))
}

func (m *poolModel) opensAt(gate int) time.Time {
	b := m.gates[gate]
	return time.Unix(0, int64(b.opens()))
}

// Begin calls the handler for an item.
func (m *poolModel) Begin(item int) { // C72
	it := m.items[item]
	it.began, it.cause = m.now, ""
	if m.stopped {
		it.end("stop")
	}
	if it.ready && m.again { // it was added during a linger
		it.end("added")
	}
}

// Release gives up an item that was taken and not handled.
func (m *poolModel) Release(item int) { // C84
	it := m.items[item]
	if it.taken = false; it.canceled {
		m.finish(it.value)
	} else {
		m.goBack(it)
	}
	it.value = ""
}

// goBack makes an item ready again.
func (m *poolModel) goBack(it *poolItem) {
	if it.ready = true; m.values {
		m.giveBack(it, 0)
	}
}

// Step lets time pass. It must not pass the next event.
func (m *poolModel) Step(d time.Duration) { // C19, C74
	m.now = m.now.Add(d)
	for _, it := range m.items {
		if it.taken && !it.began.IsZero() && m.limit > 0 && !m.now.Before(it.began.Add(m.limit)) {
			it.end("timeout")
		}
	}
	if m.drains && !m.timeout.IsZero() && !m.now.Before(m.timeout) {
		m.Stop()
	}
	for _, it := range m.items {
		if !it.due.IsZero() && !m.now.Before(it.due) {
			it.due = time.Time{}
			m.makeReady(it)
		}
	}
}

// Next returns the time of the next event, or zero.
func (m *poolModel) Next() (next time.Time) {
	for item, it := range m.items {
		next = earliest(next, it.due)
		if opens := m.opens(item); it.ready && opens.After(m.now) {
			next = earliest(next, opens)
		}
		if it.taken && !it.began.IsZero() && m.limit > 0 && it.cause == "" {
			next = earliest(next, it.began.Add(m.limit))
		}
		if it.taken && it.began.IsZero() && !m.holding {
			next = earliest(next, it.claimed.Add(m.linger))
		}
	}
	if !m.stopped {
		next = earliest(next, m.timeout)
	}
	return next
}

// Stop ends the handlers' contexts. A drain reports what it has dropped.
func (m *poolModel) Stop() { // C49
	if m.stopped {
		return
	}
	m.stopped, m.early = true, m.drains && !m.isOver()
	for _, item := range m.dropped {
		m.drop(item, m.items[item])
	}
	m.dropped = nil
	for _, it := range m.items {
		if it.taken {
			it.end("stop")
		}
	}
}

// drop reports an item that a drain has dropped, or the values of a key, which may
// have come back since.
func (m *poolModel) drop(item int, it *poolItem) { // C49, C58
	if m.values && it.pending == "" {
		return
	}
	held := it.taken || !m.values && (it.ready || !it.due.IsZero())
	for value := range strings.SplitSeq(it.pending, "|") {
		m.noteValue(value, "leftover", item, it.failures, "shutdown", "down:dropped", false)
		if !held { // C50: otherwise the failures are those of a run to come
			it.failures = 0
		}
	}
	if m.values {
		it.pending, it.ready, it.due, it.backsOff = "", false, time.Time{}, false
	}
}

// End ends the context of Run.
func (m *poolModel) End(timeout time.Duration) { // C49
	if m.stopped { // Run waits for the handlers alone
		return
	}
	if !m.drained {
		m.ends = max(m.ends, endsNow)
		m.Stop()
		return
	}
	m.drains = true
	if timeout > 0 {
		m.timeout = m.now.Add(timeout)
	}
	if m.ends == isShut {
		return
	}
	m.ends, m.retries = isDrained, m.drain.Retries != shardq.RefuseRetries
	for item, it := range m.items {
		switch {
		case it.due.IsZero() || m.drain.Delayed == shardq.AwaitDelayed:
		case m.drain.Delayed == shardq.RunDelayed || it.serves: // C28
			it.due = time.Time{}
			m.makeReady(it)
		default:
			it.due, it.backsOff = time.Time{}, false
			m.dropped = append(m.dropped, item)
		}
	}
}

// ShutDown shuts the queue down.
func (m *poolModel) ShutDown() { // C49
	runs := m.values
	for item, it := range m.items {
		switch {
		case it.due.IsZero():
		case m.values, it.serves: // C28
			m.makeReady(it)
			runs = true
		case m.drains:
			m.dropped = append(m.dropped, item) // the drain returns them
		}
		it.due = time.Time{}
	}
	m.ends, m.retries = isShut, false
	if !m.drains || m.stopped {
		return
	}
	if m.stopping = runs; !m.stopping {
		m.Stop()
		m.early = true
	}
}

// An answer is what a handler does: s succeeds, f fails, r fails and names the
// least delay, g fails for good, p panics, x calls Goexit, a and z ask for the
// item again after a second or at once, c returns the error of its context, k a
// permanent one that wraps it, and w, in batches, returns the wrong number of
// errors. In batches, p, x and w count for all items.
type answer = rune

// Finish ends the attempt of an item.
func (m *poolModel) Finish(item int, what answer) { // C50, C72, C74
	it := m.items[item]
	result, kind, least := stats.Failed, string(what), time.Duration(0)
	switch {
	case what == 'r':
		kind, least = "f", leastDelay
	case (what == 'c' || what == 'k') && it.cause == "":
		what = 's'
	case (what == 'c' || what == 'k') && (it.cause == "added" || it.cause == "canceled"):
		m.results[stats.Requeued]++
		m.giveUp(it, it.canceled) // it runs again if it was added after the Cancel
		return
	case (what == 'c' || what == 'k') && it.cause == "timeout":
		result, kind = stats.TimedOut, "timeout"
	case what == 'k':
		kind = "canceled"
	case what == 'c': // the shutdown has interrupted it
		m.results[stats.Requeued]++
		left := m.isClosed() && !m.retries && !it.canceled
		if left {
			m.note("leftover", item, it.failures+1, "shutdown", "down:canceled", true)
		}
		m.giveUp(it, left || it.canceled)
		return
	case what == 'p', what == 'x':
		result = stats.Panicked
	}
	switch what {
	case 's':
		m.results[stats.Succeeded]++
		m.finish(it.value)
		m.giveUp(it, true)
	case 'a', 'z':
		m.results[stats.Requeued]++
		m.returns(item, map[answer]time.Duration{'a': time.Second}[what], "again", true)
	default:
		m.fail(item, result, kind, least, what == 'g' || what == 'k')
	}
}

// giveUp ends the claim of an item. If it is done, its failures are forgotten.
// If not, it is ready again.
func (m *poolModel) giveUp(it *poolItem, done bool) {
	if it.canceled {
		m.finish(it.value)
	}
	if done {
		it.value = ""
		m.forget(it)
	} else {
		m.goBack(it)
	}
	it.taken, it.began = false, time.Time{}
}

const leastDelay = 3 * time.Second

func (m *poolModel) fail(item int, result stats.Result, kind string, least time.Duration, permanent bool) { // C50
	it := m.items[item]
	reason := "none"
	if it.failures == 0 || it.first.IsZero() {
		it.first = m.now
	}
	switch {
	case it.canceled: // whatever its run returns
	case permanent:
		reason = "permanent"
	case m.most > 0 && it.failures+1 >= m.most, m.elapsed > 0 && m.now.Sub(it.first) >= m.elapsed:
		reason = "exhausted"
	}
	m.note("error", item, it.failures+1, reason, kind, false)
	if reason == "none" {
		m.results[result]++
		m.returns(item, max(least, m.backoffOf(it.failures+1)), kind, false)
		return
	}
	m.results[stats.Discarded]++
	if m.note("discard", item, it.failures+1, reason, kind, false) {
		m.finish(it.value)
	}
	m.giveUp(it, true)
}

// returns ends the claim of an item that runs again, or is left over by a
// shutdown.
func (m *poolModel) returns(item int, delay time.Duration, kind string, requeue bool) { // C50, C73
	it := m.items[item]
	if it.canceled {
		m.giveUp(it, true)
		return
	}
	if m.isClosed() && !m.retries {
		m.note("leftover", item, it.failures+1, "shutdown", "down:"+kind, requeue)
		m.giveUp(it, true)
		return
	}
	panics := false // then the item is ready at once
	if requeue {
		panics = m.forget(it)
	} else if panics = m.panics("When"); !panics {
		it.failures++
	}
	switch {
	case panics:
		m.goBack(it)
	case m.values:
		m.giveBack(it, delay)
	case requeue:
		m.Add(item, delay)
	default:
		m.backOff(item, delay)
	}
	it.taken, it.began = false, time.Time{}
}

// note notes a call of a hook, or what Run returns in its place. It reports whether
// the hook returns.
func (m *poolModel) note(hook string, item, attempt int, reason, kind string, requeued bool) bool {
	return m.noteValue(m.items[item].value, hook, item, attempt, reason, kind, requeued)
}

func (m *poolModel) noteValue(value, hook string, item, attempt int, reason, kind string, requeued bool) bool {
	took, first := time.Duration(0), time.Time{}
	if it := m.items[item]; kind != "down:dropped" {
		took, first = m.now.Sub(it.began), it.first
		unknown := it.failures == 0 || first.IsZero()
		if unknown && requeued {
			first = time.Time{}
		} else if unknown {
			first = m.now
		}
	}
	call := hookCall(hook, item, value, attempt, reason, kind, requeued, took, first)
	if hook == "leftover" && !m.leftover {
		m.kept = append(m.kept, call)
		return true
	}
	m.events = append(m.events, call)
	if m.left--; m.left == 0 && m.fault == "panic" {
		m.faulted, m.stopping = true, true
	}
	return m.left != 0
}

// hookCall writes a call of a hook.
func hookCall(hook string, item int, value string, attempt int, reason, kind string, requeued bool, took time.Duration, first time.Time) string {
	return fmt.Sprintf("%s of %d %s: attempt %d, %s, %s, requeued %v, %v, first %d",
		hook, item, value, attempt, reason, kind, requeued, took, first.UnixNano())
}

// count counts items.
func (m *poolModel) count(is func(it *poolItem) bool) (n int) {
	for _, it := range m.items {
		if is(it) {
			n++
		}
	}
	return n
}

// groupOf returns the group in which an item is.
func (o poolOptions) groupOf(item int) int { return item % max(1, len(o.groups)) }

// room returns how many more items of the group of an item may be taken.
func (m *poolModel) room(item int) int { // C48
	if len(m.groups) == 0 || m.groups[m.groupOf(item)].Limit == 0 {
		return len(m.items)
	}
	room := m.groups[m.groupOf(item)].Limit
	for _, other := range m.takenItems() {
		if m.groupOf(other) == m.groupOf(item) {
			room--
		}
	}
	return room
}

// takeable returns the number of ready items that are not throttled.
func (m *poolModel) takeable() (n int) { // C4, C48
	for item, it := range m.items {
		if it.ready && !it.taken && m.room(item) > 0 && !m.opens(item).After(m.now) {
			n++
		}
	}
	return n
}

func (m *poolModel) ready() int {
	return m.count(func(it *poolItem) bool { return it.ready && !it.taken })
}

func (m *poolModel) takenItems() (items []int) {
	for item, it := range m.items {
		if it.taken {
			items = append(items, item)
		}
	}
	slices.Sort(items)
	return items
}

// waitingItems returns those that were taken and that no handler has.
func (m *poolModel) waitingItems() []int {
	return slices.DeleteFunc(m.takenItems(), func(item int) bool { return !m.items[item].began.IsZero() })
}

// isOver reports whether Run must have returned.
func (m *poolModel) isOver() bool { // C49
	busy := m.count(func(it *poolItem) bool { return it.taken })
	delayed := m.count(func(it *poolItem) bool { return !it.due.IsZero() })
	switch {
	case busy > 0:
		return false
	case m.stopped:
		return true
	case m.drains, m.ends == isShut:
		return m.ready()+delayed == 0
	}
	return false
}

// isStill reports whether a drain has nothing to wait for before its timeout.
func (m *poolModel) isStill() bool { // C42
	if m.timeout.IsZero() || m.count(func(it *poolItem) bool { return it.taken }) > 0 {
		return false
	}
	for item, it := range m.items {
		if it.ready && !m.opens(item).After(m.timeout) || !it.due.IsZero() && !it.due.After(m.timeout) && !m.opensAt(-1).After(m.timeout) {
			return false
		}
	}
	return true
}

// kindOf returns the kind of an error that a hook receives.
func kindOf(err error) string {
	text := err.Error()
	for _, one := range []struct{ part, kind string }{
		{"panic: ", "p"}, {"on purpose for good", "g"}, {"on purpose", "f"}, {"runtime.Goexit", "x"}, {"requeue after", "again"},
		{"deadline exceeded", "timeout"}, {"context canceled", "canceled"}, {"HandleBatch returned", "w"}, {"dropped while", "dropped"},
	} {
		if strings.Contains(text, one.part) {
			if strings.HasPrefix(text, shardq.ErrShutDown.Error()) {
				return "down:" + one.kind
			}
			return one.kind
		}
	}
	return text
}
