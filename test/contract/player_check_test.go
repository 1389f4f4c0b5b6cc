package contract

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// check compares all that can be seen of the queue.
func (p *player[T]) check() {
	q, m := p.queue, p.model
	got, want := q.Stats(), m.stats()
	if len(p.lines) > p.noted || p.taking {
		p.note("(%d ready, %d delayed, %d in flight)", want.Ready, want.Delayed, want.Processing)
	}
	if counts := counted(got); !reflect.DeepEqual(counts, want) {
		p.fatalf("Stats are\n%+v, not\n%+v", counts, want)
	}
	if q.Len() != want.Ready || q.ShuttingDown() != want.ShuttingDown || got.Parked != len(p.parked) || q.Name() != queueName {
		p.fatalf("Len is %d, ShuttingDown %v, Parked %d, not %d", q.Len(), q.ShuttingDown(), got.Parked, len(p.parked))
	}
	p.checkParts(got)
	if e := m.starving(); e != nil {
		p.fatalf("%s has been ready for %d Gets, more than %d: %+v", e.item, e.wait.gets, m.bound(e), e.wait)
	}
	p.checkHooks()
	for _, k := range p.claims {
		if live := p.model.isLive(k.ofTurn); k.Valid() != live || k.Canceled() != (live && m.entry(k.item).canceled) {
			p.fatalf("of the claim to %s in turn %d Valid is %v, Canceled %v", k.item, k.turn, k.Valid(), k.Canceled())
		}
	}
	for item, e := range m.items {
		if row, held := p.lookup(item); held != e.held() {
			p.fatalf("Lookup of %s says %v, %+v", item, held, row)
		} else if held {
			p.checkRow(row)
		}
		if got := q.NumRequeues(itemOf[T](item)); got != m.limiter[item] {
			p.fatalf("NumRequeues(%s) is %d, not %d", item, got, m.limiter[item])
		}
	}
	p.checkAll()
	p.checkGroups()
	if p.setup.is("ages", "metrics") {
		p.checkMetrics(got.Metrics)
	}
	if fake, ok := p.clock.(*clock.Fake); ok {
		p.checkTimer(fake)
	}
}

// counted returns the fields of Stats that [model.stats] returns as well.
func counted(s shardq.Stats) shardq.Stats {
	return shardq.Stats{
		Shards: s.Shards, Ready: s.Ready, Delayed: s.Delayed, Processing: s.Processing, Held: s.Held,
		Groups: s.Groups, Throttled: s.Throttled, ThrottledByRate: s.ThrottledByRate, ThrottledByPause: s.ThrottledByPause,
		Paused: s.Paused,
		Added:  s.Added, Deduplicated: s.Deduplicated, Expired: s.Expired, Dropped: s.Dropped, Canceled: s.Canceled,
		OverCapacity: s.OverCapacity, Rejected: s.Rejected, Misused: s.Misused, Discarded: s.Discarded,
		Capacity: s.Capacity, ShuttingDown: s.ShuttingDown,
	}
}

// checkParts compares the other fields of Stats: the parts of the shards, the
// priorities, and the moments at which something happens.
func (p *player[T]) checkParts(st shardq.Stats) { // C6, C43, C69
	sum, added, m := stats.Shard{}, uint64(0), p.model
	for _, part := range st.PerShard {
		sum.Ready += part.Ready
		sum.Processing += part.Processing
		sum.Delayed += part.Delayed
		sum.Held += part.Held
		added += part.Added
	}
	total := stats.Shard{Ready: st.Ready, Processing: st.Processing, Delayed: st.Delayed, Held: st.Held}
	if sum != total || added != st.Added {
		p.fatalf("the shards have %+v, but together there are %+v", st.PerShard, total)
	}
	byPriority := map[int]int{}
	for _, e := range m.items {
		if e.phase == ready {
			byPriority[e.priority]++
		}
	}
	for _, row := range st.Priorities {
		if byPriority[row.Priority] != row.Ready {
			p.fatalf("the priorities are %+v, not %v", st.Priorities, byPriority)
		}
		delete(byPriority, row.Priority)
	}
	if delete(byPriority, 0); len(byPriority) > 0 {
		p.fatalf("the priorities are %+v, which lack %v", st.Priorities, byPriority)
	}
	if rate := m.gate.rate; m.gate.limits() != (st.Rate.PerSecond > 0) || m.gate.limits() && st.Rate.Burst != burst(rate) {
		p.fatalf("the rate is %+v, not %+v", st.Rate, rate)
	}
	closed := m.gate.paused || m.gate.limits() && m.gate.opens() > m.now
	if st.Closed != closed && (m.gate.paused || st.Closed && m.now >= m.tickAt(m.gate.opens())) {
		p.fatalf("Closed is %v, and the rate allows an item from %v on", st.Closed, m.gate.opens())
	}
	if earliest, waits := m.earliest(); waits && earliest < 200*years && (st.NextDue.IsZero() || st.NextDue.After(p.began.Add(earliest))) {
		p.fatalf("the next delay ends at %v, but NextDue is %v", p.began.Add(earliest), st.NextDue)
	}
}

// earliest returns the first deadline of a delay.
func (m *model) earliest() (deadline time.Duration, waits bool) {
	deadline = endOfTime
	for _, e := range m.items {
		if e.delayed {
			deadline, waits = min(deadline, e.deadline), true
		}
	}
	return deadline, waits
}

// A stuckReport is a call of OnStuck, and its time.
type stuckReport struct {
	info stats.Item[string]
	at   time.Duration
}

// checkHooks compares the calls of the hooks.
func (p *player[T]) checkHooks() { // C15, C41, C64
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.model
	var misused []string
	for _, misuse := range p.misused {
		if misused = append(misused, nameOf(misuse.Item)); misuse.Queue != queueName || misuse.Kind != shardq.DoneWithoutGet {
			p.fatalf("OnMisuse was called with %+v", misuse)
		}
	}
	if !sameItems(misused, m.misused) || !slices.Equal(p.marks, m.bounds.reported) {
		p.fatalf("the hooks were called with %q, %v, not %q, %v", misused, p.marks, m.misused, m.bounds.reported)
	}
	if !sameAdds(p.adds, m.reported) {
		p.fatalf("OnAdd was called with %+v, not %+v", p.adds, m.reported)
	}
	p.checkStuck(p.reports)
	p.misused, p.marks, p.reports, p.adds = nil, nil, nil, nil
	m.misused, m.bounds.reported, m.reported = nil, nil, nil
}

// checkStuck checks that OnStuck was called once for each item that has been in
// processing for so long, no sooner, and at the next tick at the latest.
func (p *player[T]) checkStuck(reports []stuckReport) { // C44
	after := time.Duration(p.setup.number("stuck after")) * p.tick
	if after == 0 || p.setBack {
		return
	}
	m := p.model
	due := func(e *entry) time.Duration { return plus(plus(m.tickOf(e.since), after), p.tick) }
	for _, r := range reports {
		e := m.entry(r.info.Item)
		if p.stuck[e.item] || p.closed || r.at < due(e) || r.info.State != stats.Processing {
			p.fatalf("OnStuck was called for %+v at %v", r.info, r.at)
		}
		p.stuck[e.item] = true
	}
	p.closed = m.ends.phase == queueClosed
	for item, e := range m.items {
		if e.inFlight() && m.ends.phase != queueClosed && !p.stuck[item] && m.now > due(e) {
			p.fatalf("OnStuck was not called for %s, in processing since %v, and now is %v", item, e.since, m.now)
		}
	}
}

func (p *player[T]) checkRow(row stats.Item[string]) { // C65
	m, e := p.model, p.model.entry(row.Item)
	want := stats.Item[string]{Item: e.item, State: stats.Delayed, Shard: e.shard, Attempts: m.limiter[e.item]}
	if m.grouped() {
		want.Group = groupOf(e.item)
	}
	want.State, want.Dirty, want.Priority = stateOf(e), e.phase == dirty, p.shownPriority(e)
	same := p.showsDeadline(row, e)
	if p.hasAges() && !p.setBack && !p.shared {
		same = same && row.Since.Equal(p.began.Add(e.since))
	}
	if want.Since, want.Deadline = row.Since, row.Deadline; !same || row != want {
		p.fatalf("there is %+v, but the model has %+v", row, *e)
	}
}

func (p *player[T]) showsDeadline(row stats.Item[string], e *entry) bool {
	if e.delayed && e.deadline < 200*years {
		return row.Deadline.Equal(p.began.Add(e.deadline))
	}
	return row.Deadline.IsZero() != e.delayed
}

// checkAll compares what All and Snapshot show.
func (p *player[T]) checkAll() { // C43
	limit := len(p.played) % 4
	s := p.queue.Snapshot(limit)
	if !s.Time.Equal(p.clock.Now()) || !reflect.DeepEqual(counted(s.Stats), p.model.stats()) {
		p.fatalf("a snapshot at %v is of %v, with %+v", p.clock.Now(), s.Time, s.Stats)
	}
	first := map[stats.State][]stats.Item[T]{stats.Ready: s.Ready, stats.Processing: s.Processing, stats.Delayed: s.Delayed}
	for state, some := range first {
		rows := slices.Collect(p.queue.All(state))
		n := p.model.count(func(e *entry) bool { return e.held() && stateOf(e) == state })
		if len(rows) != n || len(some) != min(limit, n) {
			p.fatalf("All and Snapshot show %d and %d items of %v, not %d", len(rows), len(some), state, n)
		}
		for _, row := range slices.Concat(rows, some) {
			p.checkRow(rowOf(row))
		}
		p.checkOrder(state, rows)
		if state == stats.Processing && !p.setup.is("ages", "none") && !p.setBack && !p.shared {
			bySince := func(a, b stats.Item[T]) int { return a.Since.Compare(b.Since) }
			slices.SortStableFunc(rows, bySince)
			if !slices.EqualFunc(some, rows[:len(some)], func(a, b stats.Item[T]) bool { return bySince(a, b) == 0 }) {
				p.fatalf("Snapshot begins with %+v, not with the longest in processing, %+v", some, rows)
			}
		}
	}
}

// shownPriority is that of the run to come.
func (p *player[T]) shownPriority(e *entry) int {
	switch e.phase {
	case ready, dirty:
		return e.priority
	case processing:
		return 0
	}
	return e.delayPriority
}

func stateOf(e *entry) stats.State {
	switch {
	case e.phase == ready:
		return stats.Ready
	case e.inFlight():
		return stats.Processing
	}
	return stats.Delayed
}

// checkOrder checks the order of the items of a state: ready items within a
// line, others within a shard.
func (p *player[T]) checkOrder(state stats.State, rows []stats.Item[T]) { // C5, C24, C43
	last, seen := map[string]*entry{}, map[string]bool{}
	for _, row := range rows {
		e := p.model.entry(nameOf(row.Item))
		if seen[e.item] {
			p.fatalf("of the state %v, %s comes twice", state, e.item)
		}
		seen[e.item] = true
		l := p.model.lineOf(e)
		before := last[l.name]
		last[l.name] = e
		if before == nil {
			continue
		}
		wrong := false
		switch state {
		case stats.Ready:
			wrong = cmp.Or(cmp.Compare(e.priority, before.priority), cmp.Compare(before.place, e.place)) > 0
		case stats.Delayed:
			wrong = before.deadline > e.deadline
		case stats.Processing:
			wrong = p.hasAges() && !p.setBack && !p.shared && before.since > e.since
		}
		if wrong {
			p.fatalf("of the state %v, %s comes before %s", state, before.item, e.item)
		}
	}
}

// checkLeft compares what a Drain that ended early shows, unless chance decides
// whether it looked before consumers took items. A Drain whose delayed items
// ShutDown drops may also look before ShutDown drops what is ready.
func (p *player[T]) checkLeft(w *pending, left *shardq.DrainError[T]) { // C42
	if p.taking || w.shared != nil && p.model.ends.discarding {
		return
	}
	want, rank := p.model.stats(), []stats.State{stats.Processing, stats.Ready, stats.Delayed}
	counts := [3]int{left.Processing, left.Ready, left.Delayed}
	if counts != [3]int{want.Processing, want.Ready, want.Held - want.Ready - want.Processing} || left.Queue != queueName {
		p.fatalf("a Drain left %+v, not %+v", left, want)
	}
	items := left.Left()
	if len(items) != want.Held || !slices.IsSortedFunc(items, func(a, b stats.Item[T]) int {
		if a.State == stats.Processing && b.State == a.State {
			return a.Since.Compare(b.Since)
		}
		return slices.Index(rank, a.State) - slices.Index(rank, b.State)
	}) {
		p.fatalf("a Drain has %+v as left", items)
	}
	for _, row := range items {
		p.checkRow(rowOf(row))
	}
}

// checkGroups compares what Groups shows.
func (p *player[T]) checkGroups() { // C43, C47
	m, seen := p.model, 0
	for row := range p.queue.Groups() {
		l := m.lines[row.Group]
		if l == nil {
			p.fatalf("there is the group %+v", row)
		}
		want := stats.Group{
			Group: l.name, Held: m.heldIn(l), Ready: len(m.readyIn(l)), Processing: m.inFlightOf(l),
			Weight: l.weight, Limit: l.limit, Paused: l.paused, Throttled: l.state == throttled, Reason: m.reason(l),
			Rate: row.Rate, PausedUntil: row.PausedUntil, Oldest: row.Oldest, Shard: row.Shard,
		}
		// The rate is rounded. A group without items may have been forgotten.
		if row.Held == 0 {
			want.Weight, want.Limit = row.Weight, row.Limit
		} else if l.wanted.Burst > 1 && row.Rate.Burst != l.wanted.Burst || (row.Rate.PerSecond > 0) != (l.wanted.PerSecond > 0) {
			p.fatalf("the rate of %+v is not %+v", row, l.wanted)
		}
		if l.paused && l.until < endOfTime && !row.PausedUntil.Equal(p.began.Add(l.until)) || row != want {
			p.fatalf("there is the group %+v, not %+v, until %v", row, want, l.until)
		}
		seen++
	}
	for _, l := range m.lines {
		if m.grouped() && (m.heldIn(l) > 0 || l.paused) {
			seen--
		}
	}
	if seen != 0 {
		p.fatalf("Groups shows %d groups too many", seen)
	}
}

// checkMetrics compares all metrics.
func (p *player[T]) checkMetrics(got *stats.Metrics) { // C33
	m := p.model
	s := m.measured
	dirty := m.inPhase(dirty)
	counts := [4]int{got.Depth, got.Dirty, int(got.Retries), int(got.Backoffs)}
	if want := [4]int{m.inPhase(ready) + dirty, dirty, int(s.retries), int(s.backoffs)}; counts != want {
		p.fatalf("depth, dirty, retries and back-offs are %v, not %v", counts, want)
	}
	p.checkHistogram("QueueDuration", got.QueueDuration, s.queued)
	p.checkHistogram("WorkDuration", got.WorkDuration, s.worked)
	p.checkHistogram("Delay", got.Delay, s.delays)
	together, longest := s.unfinishedAt(m.now)
	if exact := !p.shared && !p.setBack && longest < years; exact && (got.Unfinished != together || got.LongestRunning != longest) {
		p.fatalf("unfinished are %v, the longest %v, not %v and %v", got.Unfinished, got.LongestRunning, together, longest)
	}
}

func (p *player[T]) checkHistogram(name string, h stats.Histogram, want []time.Duration) {
	sum := time.Duration(0)
	for _, d := range want {
		sum += min(d, endOfTime-sum)
	}
	if int(h.Count) != len(want) || h.Sum != sum && !p.shared && !p.setBack {
		p.fatalf("%s is %d durations of %v together, not %v", name, h.Count, h.Sum, want)
	}
}

// checkTimer checks that there is one timer if items are delayed, set for no
// later than the first deadline, and none without a reason.
func (p *player[T]) checkTimer(fake *clock.Fake) { // C25
	m, timers := p.model, fake.Timers()
	if lingers := m.grouped() || !m.ends.stopped; timers > 1 || m.ends.phase == queueClosed && timers > 0 && !lingers {
		p.fatalf("%d timers are set", timers)
	}
	next, set := fake.Next()
	if at, any := m.nextEvent(); any && at < 200*years && (!set || m.now+max(next, 0) > at) && !m.onlyRate() {
		p.fatalf("the next event is at %v, now is %v, but the timer is set for %v from now: %v", at, m.now, next, set)
	}
}

// onlyRate reports whether nobody may wait for the next event.
func (m *model) onlyRate() bool {
	at, _ := m.nextEvent()
	return m.gate.limits() && at == m.tickAt(m.gate.opens())
}
