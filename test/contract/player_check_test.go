package contract

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/stats"
)

// check compares all that can be seen of the queue.
func (p *player[T]) check() {
	q, m := p.queue, p.model
	got, want := q.Stats(), m.stats()
	if counts := code("%d, %d, %d", want.Ready, want.Delayed, want.Processing); counts != p.counts {
		p.counts = counts
		p.write("requireCounts(%s, q, %s)", p.t(), counts)
	}
	if counts := counted(got); !reflect.DeepEqual(counts, want) {
		p.differs("counted(q.Stats())", want, "Stats are\n%+v, not\n%+v (C6)", counts, want)
	}
	if q.Len() != want.Ready || q.ShuttingDown() != want.ShuttingDown || got.Parked != len(p.parked) || q.Name() != queueName {
		p.differs("results(q.Len(), q.ShuttingDown(), q.Stats().Parked, q.Name())", []any{want.Ready, want.ShuttingDown, len(p.parked), queueName},
			"Len is %d, ShuttingDown %v, Parked %d, not %d (C6)", q.Len(), q.ShuttingDown(), got.Parked, len(p.parked))
	}
	if e := m.starving(); e != nil {
		p.write("require.NotEqual(t, stats.Ready, results(q.Lookup(%s))[0].(stats.Item[%s]).State)", p.literal(itemOf[T](e.item)), typeOf[T]())
		p.fatalf("%s has been ready for %d Gets, more than %d (C46, C47): %+v", e.item, e.wait.gets, m.bound(e), e.wait)
	}
	p.checkHooks()
	for _, k := range p.claims {
		if live := p.model.isLive(k.ofTurn); k.Valid() != live || k.Canceled() != (live && m.entry(k.item).canceled) {
			p.write("require.Equal(t, [2]bool{%v, %v}, [2]bool{%s.Valid(), %[3]s.Canceled()})", live, live && m.entry(k.item).canceled, k.name)
			p.fatalf("of the claim to %s in turn %d Valid is %v, Canceled %v (C60)", k.item, k.turn, k.Valid(), k.Canceled())
		}
	}
	for item, e := range m.items {
		if row, held := p.lookup(item); held != e.held() {
			p.differs(code("results(q.Lookup(%s))[1]", p.literal(itemOf[T](item))), e.held(), "Lookup of %s says %v, %+v (C65)", item, held, row)
		} else if held {
			p.checkRow(row)
		}
		if got := q.NumRequeues(itemOf[T](item)); got != m.limiter[item] {
			p.differs(code("q.NumRequeues(%s)", p.literal(itemOf[T](item))), m.limiter[item], "NumRequeues(%s) is %d, not %d (C28)", item, got, m.limiter[item])
		}
	}
	p.checkAll()
	p.checkUnordered(got)
}

// checkUnordered compares what is the same in whatever order items were taken.
func (p *player[T]) checkUnordered(got shardq.Stats) {
	p.checkParts(got)
	p.checkGroups()
	if p.setup.is("ages", "metrics") {
		p.checkMetrics(got.Metrics)
	}
	if fake, ok := p.clock.(*clock.Fake); ok {
		p.checkTimer(fake)
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
		p.shows("q.Stats().PerShard", st.PerShard, "the shards have %+v, but together there are %+v (C43)", st.PerShard, total)
	}
	byPriority := map[int]int{}
	for _, e := range m.items {
		if e.phase == ready {
			byPriority[e.priority]++
		}
	}
	for _, row := range st.Priorities {
		if byPriority[row.Priority] != row.Ready {
			p.shows("q.Stats().Priorities", st.Priorities, "the priorities are %+v, not %v (C45)", st.Priorities, byPriority)
		}
		delete(byPriority, row.Priority)
	}
	if delete(byPriority, 0); len(byPriority) > 0 {
		p.shows("q.Stats().Priorities", st.Priorities, "the priorities are %+v, which lack %v (C45)", st.Priorities, byPriority)
	}
	if rate := m.gate.rate; m.gate.limits() != (st.Rate.PerSecond > 0) || m.gate.limits() && st.Rate.Burst != burst(rate) {
		p.shows("q.Stats().Rate", st.Rate, "the rate is %+v, not %+v (C69)", st.Rate, rate)
	}
	closed := m.gate.paused || m.gate.limits() && m.gate.opens() > m.now
	if st.Closed != closed && (m.gate.paused || st.Closed && m.now >= m.tickAt(m.gate.opens())) {
		p.differs("q.Stats().Closed", closed, "Closed is %v (C69), and the rate allows an item from %v on", st.Closed, m.gate.opens())
	}
	if earliest, waits := m.earliest(); waits && earliest < 200*years && (st.NextDue.IsZero() || st.NextDue.After(p.began.Add(earliest))) {
		p.shows("q.Stats().NextDue", st.NextDue, "the next delay ends at %v (C43), but NextDue is %v", p.began.Add(earliest), st.NextDue)
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
	p.writeHooks()
	if !sameItems(misused, m.misused) || !slices.Equal(p.marks, m.bounds.reported) {
		p.fatalf("the hooks were called with %q, %v, not %q, %v (C15, C41)", misused, p.marks, m.misused, m.bounds.reported)
	}
	if !sameAdds(p.adds, m.reported) {
		p.fatalf("OnAdd was called with %+v, not %+v (C64)", p.adds, m.reported)
	}
	p.checkStuck(p.reports)
	p.misused, p.marks, p.reports, p.adds = nil, nil, nil, nil
	m.misused, m.bounds.reported, m.reported = nil, nil, nil
}

func (p *player[T]) writeHooks() {
	calls := ""
	for _, item := range p.model.misused {
		calls += code(", %q", item+" is misused")
	}
	for _, high := range p.model.bounds.reported {
		calls += code(`, "high is %v"`, high)
	}
	for _, add := range p.model.reported {
		calls += code(", %q", code("%+v", add))
	}
	if len(calls)+len(p.misused)+len(p.marks)+len(p.adds) > 0 {
		p.write("require.ElementsMatch(%s, []string{%s}, noted(journal))", p.t(), strings.TrimPrefix(calls, ", "))
	}
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
			p.fatalf("OnStuck was called for %+v at %v (C44)", r.info, r.at)
		}
		p.stuck[e.item] = true
	}
	p.closed = m.ends.phase == queueClosed
	for item, e := range m.items {
		if e.inFlight() && m.ends.phase != queueClosed && !p.stuck[item] && m.now > due(e) {
			p.fatalf("OnStuck was not called for %s, in processing since %v, and now is %v (C44)", item, e.since, m.now)
		}
	}
}

func (p *player[T]) lookup(name string) (row stats.Item[string], held bool) {
	of, held := p.queue.Lookup(itemOf[T](name))
	if held {
		row = rowOf(of)
	}
	return row, held
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
		p.shows(code("results(q.Lookup(%s))[0]", p.literal(itemOf[T](e.item))), results(p.queue.Lookup(itemOf[T](e.item)))[0], "there is %+v, but the model has %+v (C65)", row, *e)
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
		p.shows(code("q.Snapshot(%d)", limit), s, "a snapshot at %v is of %v, with %+v (C43)", p.clock.Now(), s.Time, s.Stats)
	}
	first := map[stats.State][]stats.Item[T]{stats.Ready: s.Ready, stats.Processing: s.Processing, stats.Delayed: s.Delayed}
	for state, some := range first {
		rows := slices.Collect(p.queue.All(state))
		n := p.model.count(func(e *entry) bool { return e.held() && stateOf(e) == state })
		if len(rows) != n || len(some) != min(limit, n) {
			p.write("require.Len(t, slices.Collect(q.All(%d)), %d)\nrequire.Equal(t, %[2]d, q.Stats().%[3]v)", state, n, state)
			p.fatalf("All and Snapshot show %d and %d items of %v, not %d (C43)", len(rows), len(some), state, n)
		}
		for _, row := range slices.Concat(rows, some) {
			p.checkRow(rowOf(row))
		}
		p.checkOrder(state, rows)
		if state == stats.Processing && !p.setup.is("ages", "none") && !p.setBack && !p.shared {
			bySince := func(a, b stats.Item[T]) int { return a.Since.Compare(b.Since) }
			slices.SortStableFunc(rows, bySince)
			if !slices.EqualFunc(some, rows[:len(some)], func(a, b stats.Item[T]) bool { return bySince(a, b) == 0 }) {
				p.shows(code("q.Snapshot(%d)", limit), s, "Snapshot (C43) begins with %+v, not with the longest in processing, %+v", some, rows)
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
			p.shows(code("slices.Collect(q.All(%d))", state), rows, "of the state %v, %s comes twice (C43)", state, e.item)
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
			p.shows(code("slices.Collect(q.All(%d))", state), rows, "of the state %v, %s comes before %s (C5, C43)", state, before.item, e.item)
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
		p.shows(code("(*%s)[1]", w.call), w.err, "a Drain left %+v, not %+v (C42)", left, want)
	}
	items := left.Left()
	if len(items) != want.Held || !slices.IsSortedFunc(items, func(a, b stats.Item[T]) int {
		if a.State == stats.Processing && b.State == a.State {
			return a.Since.Compare(b.Since)
		}
		return slices.Index(rank, a.State) - slices.Index(rank, b.State)
	}) {
		p.shows(code("(*%s)[1].(*shardq.DrainError[%s]).Left()", w.call, typeOf[T]()), left.Left(), "a Drain has %+v as left (C42)", items)
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
			p.shows("slices.Collect(q.Groups())", slices.Collect(p.queue.Groups()), "there is the group %+v", row)
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
			p.shows("slices.Collect(q.Groups())", slices.Collect(p.queue.Groups()), "the rate of %+v is not %+v", row, l.wanted)
		}
		if l.paused && l.until < endOfTime && !row.PausedUntil.Equal(p.began.Add(l.until)) || row != want {
			p.shows("slices.Collect(q.Groups())", slices.Collect(p.queue.Groups()), "there is the group %+v, not %+v, until %v", row, want, l.until)
		}
		seen++
	}
	for _, l := range m.lines {
		if m.grouped() && (m.heldIn(l) > 0 || l.paused) {
			seen--
		}
	}
	if seen != 0 {
		p.shows("slices.Collect(q.Groups())", slices.Collect(p.queue.Groups()), "Groups shows %d groups too many", seen)
	}
}

// checkMetrics compares all metrics.
func (p *player[T]) checkMetrics(got *stats.Metrics) { // C33
	m := p.model
	s := m.measured
	dirty := m.inPhase(dirty)
	counts := [4]int{got.Depth, got.Dirty, int(got.Retries), int(got.Backoffs)}
	if want := [4]int{m.inPhase(ready) + dirty, dirty, int(s.retries), int(s.backoffs)}; counts != want {
		p.write("m := q.Stats().Metrics")
		p.differs("[4]int{m.Depth, m.Dirty, int(m.Retries), int(m.Backoffs)}", want, "depth, dirty, retries and back-offs are %v, not %v (C33)", counts, want)
	}
	p.checkHistogram("QueueDuration", got.QueueDuration, s.queued)
	p.checkHistogram("WorkDuration", got.WorkDuration, s.worked)
	p.checkHistogram("Delay", got.Delay, s.delays)
	together, longest := s.unfinishedAt(m.now)
	if exact := !p.shared && !p.setBack && longest < years; exact && (got.Unfinished != together || got.LongestRunning != longest) {
		p.differs("[]any{q.Stats().Metrics.Unfinished, q.Stats().Metrics.LongestRunning}", []any{together, longest}, "unfinished are %v, the longest %v, not %v and %v", got.Unfinished, got.LongestRunning, together, longest)
	}
}

func (p *player[T]) checkHistogram(name string, h stats.Histogram, want []time.Duration) {
	sum := time.Duration(0)
	for _, d := range want {
		sum += min(d, endOfTime-sum)
	}
	if int(h.Count) != len(want) || h.Sum != sum && !p.shared && !p.setBack {
		p.shows("q.Stats().Metrics."+name, h, "%s is %d durations of %v together, not %v", name, h.Count, h.Sum, want)
	}
}

// checkTimer checks that there is one timer if items are delayed, set for no
// later than the first deadline, and none without a reason.
func (p *player[T]) checkTimer(fake *clock.Fake) { // C25
	m, timers := p.model, fake.Timers()
	if lingers := m.grouped() || !m.ends.stopped; timers > 1 || m.ends.phase == queueClosed && timers > 0 && !lingers {
		p.shows("c.Timers()", timers, "%d timers are set (C25)", timers)
	}
	next, set := fake.Next()
	if at, any := m.nextEvent(); any && at < 200*years && (!set || m.now+max(next, 0) > at) && !m.onlyRate() {
		p.shows("results(c.Next())", results(next, set), "the next event is at %v, now is %v, but the timer is set for %v from now (C25): %v", at, m.now, next, set)
	}
}

// onlyRate reports whether nobody may wait for the next event.
func (m *model) onlyRate() bool {
	at, _ := m.nextEvent()
	return m.gate.limits() && at == m.tickAt(m.gate.opens())
}
