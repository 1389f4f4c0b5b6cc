package contract

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// This file has what the player and the model know of claims.

// inProcessing reports whether an item is handed out.
func (m *modelQueue[T]) inProcessing(item T) bool {
	return m.phase[item] == "processing" || m.phase[item] == "dirty"
}

// retry adds an item in processing again, unless it is too late for that.
func (m *modelQueue[T]) retry(item T, delay func() time.Duration) error {
	if m.drops(item) {
		m.stats.Dropped++
		return shardq.ErrShutDown
	}
	m.addAfter(item, delay())
	return nil
}

// claims are those that a player got.
type claims[T comparable] struct {
	// returned has those that calls have returned and the model does not know
	// yet. It is under the player's lock.
	returned map[T]worker.Claim[T]
	// kept are live ones, in the order of their hand-outs, and some that have
	// ended.
	kept []keptClaim[T]
	// fences has the last fence of each item.
	fences map[T]uint64
}

// A keptClaim is live while its item is in processing in that turn.
type keptClaim[T comparable] struct {
	worker.Claim[T]
	turn int
}

// maxKept limits the claims that are kept when none of them is live.
const maxKept = 20

func (p *playing[T]) isLive(k keptClaim[T]) bool {
	return p.model.inProcessing(k.Item) && p.model.turns[k.Item] == k.turn
}

// doClaim makes a call about claims.
func (p *playing[T]) doClaim(c call) {
	switch c.kind {
	case callClaim:
		p.claim(1, func(ctx context.Context, dst []worker.Claim[T]) (n int, err error) {
			dst[0], err = p.queue.Claim(ctx)
			return 1, err
		})
	case callClaimBatch:
		p.claim(c.times, p.queue.ClaimBatch)
	case callTryClaim:
		p.tryClaim()
	case callDoneClaims:
		p.doneClaims(c)
	case callEndEnded:
		p.endEnded(c)
	default:
		p.endClaim(c)
	}
}

// claim makes a call that may park, in a goroutine, unless many are parked
// already.
func (p *playing[T]) claim(size int, claim func(context.Context, []worker.Claim[T]) (int, error)) {
	p.seek(size, func(ctx context.Context) ([]T, error) {
		dst := make([]worker.Claim[T], size)
		n, err := claim(ctx, dst)
		return p.unwrap(dst[:n]), err
	})
}

func (p *playing[T]) tryClaim() {
	ready := p.model.ready()
	claim, ok := p.queue.TryClaim()
	if ok != (ready > 0) {
		p.fatalf("with %d items ready, TryClaim returned %v, %v", ready, claim, ok)
	}
	if ok {
		p.take([]outcome[T]{{items: p.unwrap([]worker.Claim[T]{claim}), at: p.model.now}})
	}
}

// unwrap returns the items of claims, which it notes for keep.
func (p *playing[T]) unwrap(claims []worker.Claim[T]) (items []T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, claim := range claims {
		items = append(items, claim.Item)
		if claim.Valid() {
			p.claims.returned[claim.Item] = claim
		}
	}
	return items
}

// keep keeps the claim to an item that was handed out, if it was claimed.
func (p *playing[T]) keep(item T) {
	p.mu.Lock()
	claim, ok := p.claims.returned[item]
	delete(p.claims.returned, item)
	p.mu.Unlock()
	if !ok {
		return
	}
	if last := p.claims.fences[item]; claim.Priority != 0 || claim.Fence() <= last {
		p.fatalf("a claim %+v of priority 0 has the fence %d, after %d", claim, claim.Fence(), last)
	}
	p.claims.fences[item] = claim.Fence()
	p.claims.kept = append(p.claims.kept, keptClaim[T]{claim, p.model.turns[item]})
	if len(p.claims.kept) > maxKept {
		p.dropOneEnded()
	}
}

func (p *playing[T]) dropOneEnded() {
	if at := slices.IndexFunc(p.claims.kept, func(k keptClaim[T]) bool { return !p.isLive(k) }); at >= 0 {
		p.claims.kept = slices.Delete(p.claims.kept, at, at+1)
	}
}

// endClaim ends a claim, live or not, and a copy of it.
func (p *playing[T]) endClaim(c call) {
	n := len(p.claims.kept)
	if n == 0 {
		return
	}
	k := p.claims.kept[modulo(n-1-c.number, n)]
	d, want := c.duration.in(p.model.tick), worker.ErrClaimEnded
	got := end(c.kind, k.Claim, d)
	if p.isLive(k) {
		want = p.endInModel(c.kind, k.Item, d)
	}
	p.model.measureReadings(1)
	if again := end(c.kind, k.Claim, d); got != want || again != worker.ErrClaimEnded {
		p.fatalf("the end of a claim to %#v returned %v, not %v; that of a copy %v", k.Item, got, want, again)
	}
}

// end ends a claim as a call says.
func end[T comparable](kind callKind, claim worker.Claim[T], d time.Duration) error {
	switch kind {
	case callClaimRetry:
		return claim.Retry()
	case callClaimRequeue:
		return claim.RequeueAfter(d)
	case callClaimRelease:
		return claim.Release()
	default:
		return claim.Done()
	}
}

// endInModel ends the processing of an item in the model.
func (p *playing[T]) endInModel(kind callKind, item T, d time.Duration) (err error) {
	switch kind {
	case callClaimRetry:
		err = p.model.retry(item, func() time.Duration {
			p.model.countBackoff()
			return p.limiter.when(item, p.model.now, p.clock.Now())
		})
	case callClaimRequeue:
		err = p.model.retry(item, func() time.Duration {
			p.limiter.forget(item)
			return d
		})
	case callClaimRelease:
		p.model.demand(item, p.model.now)
	default:
		p.limiter.forget(item)
	}
	p.done(item)
	return err
}

// doneClaims ends some claims, live or not, and for odd numbers one of them
// twice.
func (p *playing[T]) doneClaims(c call) {
	n := len(p.claims.kept)
	if n == 0 {
		return
	}
	from := modulo(c.number, n)
	kept := slices.Clone(p.claims.kept[from:min(from+c.times, n)])
	if c.number%2 != 0 {
		kept = append(kept, kept[:min(1, len(kept))]...)
	}
	got, want := p.queue.DoneClaims(claimsOf(kept)), error(nil)
	for _, k := range kept {
		if p.isLive(k) {
			_ = p.endInModel(callClaimDone, k.Item, 0)
		} else {
			want = worker.ErrClaimEnded
		}
	}
	if got != want {
		p.fatalf("DoneClaims of %+v returned %v, not %v", kept, got, want)
	}
}

func claimsOf[T comparable](kept []keptClaim[T]) (claims []worker.Claim[T]) {
	for _, k := range kept {
		claims = append(claims, k.Claim)
	}
	return claims
}

// endEnded ends a claim that has ended, in every way, which changes nothing.
func (p *playing[T]) endEnded(c call) {
	ended := slices.DeleteFunc(slices.Clone(p.claims.kept), p.isLive)
	if len(ended) == 0 {
		return
	}
	claim := ended[modulo(c.number, len(ended))].Claim
	before := p.queue.Stats()
	errs := []error{p.queue.DoneClaims([]worker.Claim[T]{claim, claim})}
	for _, kind := range []callKind{callClaimDone, callClaimRetry, callClaimRequeue, callClaimRelease} {
		errs = append(errs, end(kind, claim, time.Second))
	}
	p.model.measureReadings(2 + len(errs))
	if slices.ContainsFunc(errs, func(err error) bool { return err != worker.ErrClaimEnded }) {
		p.fatalf("the ends of a claim to %#v that has ended returned %v", claim.Item, errs)
	}
	if after := p.queue.Stats(); !reflect.DeepEqual(counts(before), counts(after)) {
		p.fatalf("the ends of a claim to %#v that has ended made %+v of %+v", claim.Item, after, before)
	}
}

// checkClaims compares which claims have ended.
func (p *playing[T]) checkClaims() {
	for _, k := range p.claims.kept {
		if k.Valid() != p.isLive(k) {
			p.fatalf("of the claim to %#v in turn %d Valid is %v, and the turn is %d, %q",
				k.Item, k.turn, k.Valid(), p.model.turns[k.Item], p.model.phase[k.Item])
		}
	}
}
