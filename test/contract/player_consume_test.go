package contract

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A consumer is a call that waits for items, with its outcome.
type consumer[T comparable] struct {
	cancel   canceler
	call     string // in Go, "" for TryClaim
	forever  bool   // it has no context
	canceled bool
	size     int // the largest number of items that fit
	// fresh says that the call was made with nobody parked before it.
	fresh bool

	got        []string // so far
	items      []string
	priorities []int // nil if they are unknown
	claims     []worker.Claim[T]
	name       string // of the claims in Go
	named      int
	err        error
	// next lets a loop over Items end its turn, in which it has an item.
	next chan struct{}
	took string
}

// maxParked is enough to see that more than one wake, and not all.
const maxParked = 5

// A keptClaim is live while its item is in processing in that turn.
type keptClaim[T comparable] struct {
	worker.Claim[T]
	ofTurn
	name string // in Go
}

type ofTurn struct {
	item string
	turn int
}

// maxKept limits the claims that are kept when none of them is live.
const maxKept = 20

func (m *model) isLive(k ofTurn) bool {
	e := m.entry(k.item)
	return e.inFlight() && e.turns == k.turn
}

// doConsume makes a call that hands out items, unless many are parked already.
func (p *player[T]) doConsume(c call) {
	q := p.queue
	if len(p.parked) == maxParked && strings.ContainsRune("gGCIkl", rune(c.letter)) {
		return
	}
	switch c.letter {
	case 'g', 'G':
		p.hurried = c.letter == 'g' && !p.model.mayTakeAny() && !p.model.mayLeave()
		p.consume(&consumer[T]{size: 1, forever: true}, "return results(q.Get())", func(_ context.Context, s *consumer[T]) {
			item, shutdown := q.Get()
			if s.items = []string{nameOf(item)}; shutdown {
				s.err = shardq.ErrShutDown
			}
		})
	case 'C':
		p.consume(&consumer[T]{size: 1}, "return results(q.GetContext(ctx))", func(ctx context.Context, s *consumer[T]) {
			item, err := q.GetContext(ctx)
			s.items, s.err = []string{nameOf(item)}, err
		})
	case 'E':
		it := itemOf[T](c.item(0))
		p.write("require.NoError(t, withEndedContext(q, %s))", p.literal(it))
		if err := withEndedContext(q, it); err != nil {
			p.fatalf("%v (C35)", err)
		}
	case 'I':
		p.consume(&consumer[T]{size: 1, next: make(chan struct{})}, "", p.loopOnce)
	case 'k':
		s := &consumer[T]{size: 1, name: p.newClaims(1)}
		p.consume(s, code("claim, err := q.Claim(ctx); %s[0] = claim; return results(err)", s.name), func(ctx context.Context, s *consumer[T]) {
			var claim worker.Claim[T]
			claim, s.err = q.Claim(ctx)
			s.claimed([]worker.Claim[T]{claim})
		})
	case 'l':
		s := &consumer[T]{size: c.size(), name: p.newClaims(c.size())}
		p.consume(s, code("_, err := q.ClaimBatch(ctx, %s); return results(err)", s.name), func(ctx context.Context, s *consumer[T]) {
			dst := make([]worker.Claim[T], s.size)
			n, err := q.ClaimBatch(ctx, dst)
			s.err = err
			s.claimed(dst[:n])
		})
	case 't':
		may := p.model.mayTakeAny()
		s := &consumer[T]{size: 1, name: p.newClaims(1)}
		p.write("%s[0], ok = q.TryClaim()\nrequire.Equal(t, %v, ok)", s.name, may)
		claim, ok := q.TryClaim()
		if ok != may {
			p.fatalf("TryClaim returned %v, %v, but may (C4): %v", claim, ok, may)
		}
		if ok {
			s.claimed([]worker.Claim[T]{claim})
			p.locked(func() { p.outcomes = append(p.outcomes, s) })
		}
	case 'c', 'b':
		p.cancelOneParked(c)
	}
}

func (s *consumer[T]) claimed(claims []worker.Claim[T]) {
	s.priorities = []int{}
	for _, claim := range claims {
		s.items, s.priorities = append(s.items, nameOf(claim.Item)), append(s.priorities, claim.Priority)
	}
	s.claims = claims
}

// loopOnce is a loop over Items that ends after its first turn. The turn ends
// when the player has seen its item.
func (p *player[T]) loopOnce(ctx context.Context, s *consumer[T]) { // C36
	s.err = shardq.ErrShutDown
	for item := range p.queue.Items(ctx) {
		s.items, s.err = []string{nameOf(item)}, nil
		p.locked(func() { p.outcomes = append(p.outcomes, s) })
		select {
		case <-s.next:
		case <-ctx.Done():
		}
		break
	}
	if s.err != nil && ctx.Err() != nil {
		s.err = ctx.Err()
	}
}

// consume makes a call in a goroutine.
func (p *player[T]) consume(s *consumer[T], text string, call func(ctx context.Context, s *consumer[T])) {
	ctx := context.Background()
	if s.fresh = len(p.parked) == 0; !s.forever {
		ctx, s.cancel = p.newContext(0, "ctx")
	} else {
		p.names++
	}
	if s.next != nil {
		s.name, s.call = code("turn%d", p.names), code("call[%d]", p.names)
		p.write("took%d, %s := new([]any), make(chan struct{})", p.names, s.name)
		p.writeStart(code("for item := range q.Items(ctx) { *took%d = results(item); select { case <-%s: case <-ctx.Done(): }; break }; return results()", p.names, s.name))
	} else {
		s.call = p.writeStart(text)
	}
	p.parked = append(p.parked, s)
	go func() {
		if caught(func() { call(ctx, s) }) {
			s.err = errInjected
		}
		if s.next == nil || s.err != nil {
			p.locked(func() { p.outcomes = append(p.outcomes, s) })
		}
	}()
}

// cancelOneParked ends the context of one of the parked calls that have one.
func (p *player[T]) cancelOneParked(c call) {
	could := slices.DeleteFunc(slices.Clone(p.parked), func(s *consumer[T]) bool { return s.forever })
	if len(could) > 0 {
		s := could[modulo(c.number(), len(could))]
		s.canceled = true
		p.cancelCall(s.cancel)
	}
	if c.letter == 'b' {
		p.write("q.Add(%s)", p.literal(itemOf[T](c.item(0))))
		p.queue.Add(itemOf[T](c.item(0)))
		_ = p.model.addWith(c.item(0), shardq.AddOptions{}, false)
	}
}

// settle waits until all goroutines are blocked, and checks which calls have
// returned.
func (p *player[T]) settle() {
	if len(p.parked)+len(p.model.pending)+len(p.results) > 0 {
		p.wait()
	}
	synctest.Wait()
	p.disarm()
	p.chance = p.chance || p.spread || len(p.results) > 0
	p.taking, p.takers = false, nil
	p.noteTurnedAway()
	p.explain()
	p.match()
	for _, s := range p.unmatched() { // others may have been matched in the wrong order
		p.noteTaker(s)
	}
	if len(p.takers) > 1 || p.spread && p.taking {
		p.model.overlap()
	}
	for m := p.model; m.admit() > 0; {
		m.disordered = m.disordered || len(p.parked) > 0
		p.match()
	}
	if (p.ambiguous || p.spread) && len(p.unmatched()) > 0 {
		p.model.disordered = true
		p.match()
	}
	p.model.settleEnds()
	for _, s := range p.copyOutcomes() {
		if len(s.items) == 0 || s.err != nil {
			p.returned(s)
		}
	}
	p.model.crossMarks(p.watermarks())
	p.checkParked()
	p.settlePending()
}

// noteTurnedAway lets the queue tell which lines a Get has passed over for want
// of a token, since that depends on its path. Lines that it may have visited are
// served in no known order.
func (p *player[T]) noteTurnedAway() {
	m := p.model
	for _, l := range m.lines {
		if l.state != selectable || !m.lacksToken(l) {
			continue
		}
		m.disordered = true
		for info := range p.queue.Groups() {
			if info.Group == l.name && info.Reason == stats.ThrottledByRate {
				m.turnAway(l)
			}
		}
	}
}

// match takes from the model what consumers got.
func (p *player[T]) match() {
	for matched := true; matched; {
		matched = false
		for _, s := range p.copyOutcomes() {
			for len(s.items) > 0 && s.err == nil && p.take(s) {
				matched = true
			}
		}
		matched = matched || p.endTurn()
	}
}

// endTurn ends the turn of a loop over Items, once no other consumer can have
// got what was there before.
func (p *player[T]) endTurn() bool {
	for _, s := range p.copyOutcomes() {
		if s.next == nil || s.err != nil || len(s.items) > 0 || s.took == "" {
			continue
		}
		for _, o := range p.copyOutcomes() { // they had returned before
			if o.next == nil && o.err == nil && len(o.items) == 0 {
				p.returned(o)
			}
		}
		p.model.crossMarks(p.watermarks())
		p.write("close(%s)\nsynctest.Wait()", s.name)
		close(s.next)
		synctest.Wait()
		p.model.done(s.took)
		p.held = slices.DeleteFunc(p.held, func(held string) bool { return held == s.took })
		s.took = ""
		return true
	}
	return false
}

func (p *player[T]) copyOutcomes() (outcomes []*consumer[T]) {
	p.locked(func() { outcomes = slices.Clone(p.outcomes) })
	return outcomes
}

// unmatched returns the consumers with items that the model has not handed out.
func (p *player[T]) unmatched() []*consumer[T] {
	return slices.DeleteFunc(p.copyOutcomes(), func(s *consumer[T]) bool { return len(s.items) == 0 || s.err != nil })
}

// take takes the first item of a consumer from the model, if it may have got
// it. Of items that were handed out at the same time, successive Gets must have
// been able to return them, and those of each call in their order.
func (p *player[T]) take(s *consumer[T]) bool { // C1, C5
	priority := (*int)(nil)
	if len(s.priorities) > 0 {
		priority = &s.priorities[0]
	}
	p.chance = p.chance || len(p.parked) > 1 || p.model.mayChoose()
	if !p.model.take(s.items[0], priority) {
		return false
	}
	p.took(s, p.model.entry(s.items[0]).turns)
	return true
}

// took notes that a consumer has taken its next item, in that turn of the item.
func (p *player[T]) took(s *consumer[T], turn int) {
	item := s.items[0]
	if len(s.priorities) > 0 {
		s.priorities = s.priorities[1:]
	}
	s.got = append(s.got, item)
	p.taking = true
	p.noteTaker(s)
	s.items, s.size = s.items[1:], s.size-1
	p.held = append(p.held, item)
	delete(p.stuck, item)
	if s.next != nil {
		s.took = item
		p.write("requireReturned(%s, %s, %s)", p.t(), strings.Replace(s.name, "turn", "took", 1), p.literal(itemOf[T](item)))
	}
	if len(s.claims) > 0 {
		p.write("require.Equal(%s, %s, %s)", p.t(), p.literal(itemOf[T](item)), s.item())
		p.keep(s.claims[0], turn, code("%s[%d]", s.name, s.named))
		s.named++
		s.claims = s.claims[1:]
	}
}

func (p *player[T]) noteTaker(s *consumer[T]) {
	if !slices.Contains(p.takers, s) {
		p.takers = append(p.takers, s)
	}
	ranked := p.model.prioritized && (p.model.counts.Shards > 1 || p.model.interval() > 0)
	p.ambiguous = p.ambiguous || len(p.takers) > 1 && (p.model.grouped() || ranked)
}

// returned checks the outcome of a consumer.
func (p *player[T]) returned(s *consumer[T]) { // C10, C35, C37
	same := func(o *consumer[T]) bool { return o == s }
	p.locked(func() { p.outcomes = slices.DeleteFunc(p.outcomes, same) })
	p.parked = slices.DeleteFunc(p.parked, same)
	if s.call != "" {
		p.write("requireReturned(%s, %s, %s)", p.t(), s.call, p.outcome(s))
	}
	nothing := func(items []string) bool { return len(items) == 0 || len(items) == 1 && items[0] == nameOf(*new(T)) }
	switch {
	case s.err == nil:
		if s.fresh && s.size > 0 && !p.spread && p.model.mayTakeAny() {
			p.unlike(s, "a batch returned, though it had room for %d items more (C37)", s.size)
		}
	case !nothing(s.items):
		p.unlike(s, "items %#v were returned with the error %v (C10)", s.items, s.err)
	case errors.Is(s.err, shardq.ErrShutDown) && p.model.ends.phase == queueClosed:
		if !p.model.mayLeave() && !s.canceled && !p.model.disordered {
			p.unlike(s, "a consumer got the shutdown, and one of %q is ready (C10)", p.model.takeable())
		}
	case errors.Is(s.err, errInjected):
	case !s.canceled || !errors.Is(s.err, context.Canceled):
		p.unlike(s, "a consumer got the error %v (C35)", s.err)
	}
}

// checkParked checks that the parked consumers must not return.
func (p *player[T]) checkParked() { // C4, C10
	if outcomes := p.copyOutcomes(); len(outcomes) > 0 {
		s, may := outcomes[0], p.model.takeable()
		p.write("require.Contains(t, %s, %s)", p.literal(itemsOf[T](may)), s.item())
		p.fatalf("%s got %q, and not one of %q, which is not the order (C5)", s.call, s.items, may)
	}
	m := p.model
	// If the clock was set back, a pause may begin again; consumers learn so at its end.
	leave := m.mayLeave() && !(p.setBack && m.grouped())
	for _, s := range p.parked {
		if s.canceled || leave || m.mustTake() {
			owed := code("one of %q (C4)", m.takeable())
			if s.canceled {
				owed = "the end of its context (C35)"
			} else if leave {
				owed = "the shutdown (C10)"
			}
			p.write("requireReturned(t, %s) // it must get %s", s.call, owed)
			p.fatalf("of %d parked consumers, %s stays, and must get %s", len(p.parked), s.call, owed)
		}
	}
}

// outcome writes what a call has returned.
func (p *player[T]) outcome(s *consumer[T]) string {
	item := p.literal(itemOf[T](slices.Concat(s.got, []string{nameOf(*new(T))})[0])) + ", "
	switch {
	case s.err == errInjected:
		return "errInjected"
	case s.forever:
		return code("%s%v", item, s.err != nil)
	case s.next != nil:
		return ""
	case s.name != "":
		item = ""
	}
	return item + p.literal(s.err)
}

// item is the next item of a consumer, in Go.
func (s *consumer[T]) item() string {
	if len(s.claims) > 0 {
		return code("%s[%d].Item", s.name, s.named)
	}
	return code("(*%s)[0]", strings.Replace(cmp.Or(s.name, s.call), "turn", "took", 1))
}

// unlike ends the test because a consumer has returned what it has returned.
func (p *player[T]) unlike(s *consumer[T], format string, arguments ...any) {
	p.lines[len(p.lines)-1] = code("require.NotEqual(t, results(%s), *%s)", p.outcome(s), s.call)
	p.fatalf(s.call+": "+format, arguments...)
}

func (m *model) takeable() (items []string) {
	for item, e := range m.items {
		if e.phase == ready && m.mayTake(e) {
			items = append(items, item)
		}
	}
	return items
}

func (m *model) mayTakeAny() bool { return len(m.takeable()) > 0 }

// mayChoose reports whether a Get may return one item or another, perhaps in
// another run, which visits other shards. Of many, that is not worth the time.
func (m *model) mayChoose() bool {
	if n := m.inPhase(ready); n < 2 || n > 40 || m.disordered || m.counts.Shards > 1 {
		return n > 1
	}
	return len(m.takeable()) > 1
}

// mustTake reports whether a parked consumer must have been woken. The queue
// looks at its rate again at ticks.
func (m *model) mustTake() bool { // C4
	return m.mayTakeAny() && (!m.gate.limits() || m.now >= m.tickAt(m.gate.opens()))
}

// keep keeps a claim.
func (p *player[T]) keep(claim worker.Claim[T], turn int, name string) { // C60
	item := nameOf(claim.Item)
	if last := p.fences[item]; claim.Fence() <= last {
		p.write("require.Greater(t, %s.Fence(), uint64(%d))", name, last)
		p.fatalf("the claim to %s has the fence %d, after %d (C60)", item, claim.Fence(), last)
	}
	p.fences[item] = claim.Fence()
	p.claims = append(p.claims, keptClaim[T]{claim, ofTurn{item, turn}, name})
	if at := slices.IndexFunc(p.claims, func(k keptClaim[T]) bool { return !p.model.isLive(k.ofTurn) }); at >= 0 && len(p.claims) > maxKept {
		p.claims = slices.Delete(p.claims, at, at+1)
	}
}

// actOnClaim ends a claim, and then a copy.
func (p *player[T]) actOnClaim(c call, d time.Duration) (a action, ok bool) { // C60
	n := len(p.claims)
	if n == 0 {
		return a, false
	}
	k := p.claims[modulo(n-1-c.number(), n)]
	readyAgain := func(first func(m *model)) func(m *model) any {
		return func(m *model) any {
			if m.isLive(k.ofTurn) {
				first(m)
				_ = m.end('a', k.item, k.Priority, 0)
			}
			return nil
		}
	}
	return action{
		code: code("[2]error{%s, %[1]s}", p.endOf(k, c.letter, d)),
		on:   func() any { return [2]error{end(c.letter, k.Claim, d), end(c.letter, k.Claim, d)} },
		in: func(m *model) any {
			if !m.isLive(k.ofTurn) {
				return [2]error{worker.ErrClaimEnded, worker.ErrClaimEnded}
			}
			return [2]error{m.end(c.letter, k.item, k.Priority, d), worker.ErrClaimEnded}
		},
		ends:  true,
		parts: []func(m *model) any{readyAgain(func(*model) {}), readyAgain(func(m *model) { m.forget(k.item) })},
	}, true
}

func (p *player[T]) endOf(k keptClaim[T], letter byte, d time.Duration) string {
	return k.name + "." + map[byte]string{'e': "Done()", 'r': "Retry()", 'q': code("RequeueAfter(%s)", p.literal(d)), 'a': "Release()"}[letter]
}

// end ends a claim as a call says.
func end[T any](letter byte, claim worker.Claim[T], d time.Duration) error {
	switch letter {
	case 'r':
		return claim.Retry()
	case 'q':
		return claim.RequeueAfter(d)
	case 'a':
		return claim.Release()
	}
	return claim.Done()
}

// end ends the processing of an item.
func (m *model) end(letter byte, item string, priority int, d time.Duration) (err error) { // C60
	e := m.entry(item)
	again := func(delay func() time.Duration) error {
		m.moment++
		if e.canceled {
			return nil
		}
		if m.ends.phase != queueOpen && !m.takesBack(e) {
			m.counts.Dropped++
			return shardq.ErrShutDown
		}
		if m.ends.phase == queueOpen {
			m.measured.retries++
		}
		if d := delay(); d > 0 {
			m.delay(e, shardq.AddOptions{After: d, Priority: priority}, letter == 'r')
		} else {
			m.add(e, priority, m.setup.is("cancel delay on add", "yes"), false)
		}
		return nil
	}
	switch letter {
	case 'r':
		err = again(func() time.Duration { return m.backoff(item) })
	case 'q':
		err = again(func() time.Duration {
			m.forget(item)
			return d
		})
	case 'a':
		if m.moment++; !e.canceled {
			m.add(e, priority, false, false)
		}
	default:
		m.forget(item)
	}
	m.done(item)
	return err
}

// actOnClaims ends some claims, live or not, and for odd numbers one of them
// twice. If callers wait for room, it ends one, because they would be admitted
// in any order.
func (p *player[T]) actOnClaims(c call) (a action, ok bool) { // C37
	if len(p.claims) == 0 {
		return a, false
	}
	from := modulo(c.number(), len(p.claims))
	kept := slices.Clone(p.claims[from:min(from+c.size(), len(p.claims))])
	if len(p.model.bounds.waiters) > 0 {
		kept = kept[:1]
	}
	if c.number()%2 != 0 {
		kept = append(kept, kept[0])
	}
	var claims []worker.Claim[T]
	var names []string
	for _, k := range kept {
		claims, names = append(claims, k.Claim), append(names, k.name)
	}
	return action{
		code: code("q.DoneClaims([]worker.Claim[%s]{%s})", typeOf[T](), strings.Join(names, ", ")),
		ends: true,
		on:   func() any { return p.queue.DoneClaims(claims) },
		in: func(m *model) any {
			want := error(nil)
			for _, k := range kept {
				if m.isLive(k.ofTurn) {
					_ = m.end('e', k.item, 0, 0)
				} else {
					want = worker.ErrClaimEnded
				}
			}
			return want
		},
	}, true
}

// endEnded ends a claim that has ended, in every way, which changes nothing.
func (p *player[T]) endEnded(c call) { // C60
	ended := slices.DeleteFunc(slices.Clone(p.claims), func(k keptClaim[T]) bool { return p.model.isLive(k.ofTurn) })
	if len(ended) == 0 {
		return
	}
	k := ended[modulo(c.number(), len(ended))]
	claim := k.Claim
	errs := []error{p.queue.DoneClaims([]worker.Claim[T]{claim, claim})}
	p.write("require.ErrorIs(t, q.DoneClaims([]worker.Claim[%s]{%s, %[2]s}), worker.ErrClaimEnded)", typeOf[T](), k.name)
	for _, letter := range []byte("erqa") {
		p.write("require.ErrorIs(t, %s, worker.ErrClaimEnded)", p.endOf(k, letter, time.Second))
		errs = append(errs, end(letter, claim, time.Second))
	}
	if slices.ContainsFunc(errs, func(err error) bool { return err != worker.ErrClaimEnded }) {
		p.fatalf("the ends of a claim to %v that has ended returned %v (C60)", claim.Item, errs)
	}
}

// settlePending checks which calls beside Gets have returned, and their
// results.
func (p *player[T]) settlePending() { // C11, C12, C40, C42, C59
	for _, w := range p.model.pending {
		returned := false
		p.locked(func() { returned = w.returned })
		switch idlers := &p.model.ends.idlers; {
		case w.mayEnd && returned && !w.ended:
			w.end(nil)
			p.chance, *idlers = true, slices.DeleteFunc(*idlers, func(o *pending) bool { return o == w })
		case w.mayEnd && !returned && w.ended && p.model.held() > 0: // it has missed a moment between calls at once
			p.chance, w.ended, *idlers = true, false, append(*idlers, w)
		}
		p.writeEnd(w, returned)
		if returned != w.ended || returned && !errors.Is(w.err, w.wantErr) {
			p.fatalf("%s, with the item %q, drain %+v: returned is %v, %v, not %v, %v (%s)", w.call, w.item, w.drain, returned, w.err, w.ended, w.wantErr, w.clause)
		}
		if !returned {
			continue
		}
		w.cancel.CancelFunc()
		if want := w.wantDropped; w.shared == nil && !sameItems(w.dropped, want) {
			p.fatalf("%s, a Drain, returned %q as dropped, not %q (C42)", w.call, w.dropped, want)
		}
		if all := w.shared; all != nil {
			all.got = append(all.got, w.dropped...)
			if all.left--; all.left == 0 && !sameItems(all.got, all.want) {
				p.shows("*"+w.call, results(sorted(w.dropped), w.err), "drains returned %q as dropped, not %q (C42)", all.got, all.want)
			}
		}
		if left := (*shardq.DrainError[T])(nil); errors.As(w.err, &left) {
			p.checkLeft(w, left)
		}
	}
	p.model.pending = slices.DeleteFunc(p.model.pending, func(w *pending) bool { return w.ended })
}

// writeEnd writes that a call has ended as the model says, or goes on.
func (p *player[T]) writeEnd(w *pending, returned bool) {
	want, dropped := p.literal(w.wantErr), w.wantDropped
	if w.shared != nil {
		p.chance, dropped = true, w.dropped
	}
	if w.clause == "C42" {
		want = code("%#v, %s", sorted(dropped), want)
	}
	if w.ended {
		p.write("requireReturned(%s, %s, %s)", p.t(), w.call, want)
	} else if returned {
		p.write("require.Nil(t, *%s, \"it must not return yet\")", w.call)
	}
}

// sameItems compares items in any order.
func sameItems(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }
