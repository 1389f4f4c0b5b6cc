package traces

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// TestSpoiledQueuesAreFound checks the traces themselves: traces that any queue
// passes prove nothing. It gives the queue one fault after the other, and some
// scenario must fail for each of them. Most of the faults are those of other
// queues.
func TestSpoiledQueuesAreFound(t *testing.T) {
	files := readAll(t)
	for _, name := range slices.Sorted(maps.Keys(spoils)) {
		t.Run(name, func(t *testing.T) {
			place := failing(t, files, spoils[name])
			assert.NotEmpty(t, place, "no scenario finds the fault")
			t.Log(place)
		})
	}
}

// readAll parses all traces.
func readAll(t *testing.T) []*file {
	t.Helper()
	var files []*file
	for _, path := range paths(t) {
		f, err := readFile(path)
		require.NoError(t, err)
		files = append(files, f)
	}
	return files
}

// failing returns the place of the first command whose outcome a fault changes.
func failing(t *testing.T, files []*file, spoil func(namedQueue) namedQueue) (place string) {
	for _, f := range files {
		for _, s := range f.scenarios {
			l := s.layouts()[0]
			l.spoil = spoil
			outcomes, err := s.replay(t, l)
			if err != nil {
				return err.Error()
			}
			if found := s.check(outcomes, l); len(found) > 0 {
				return found[0].place
			}
		}
	}
	return ""
}

// spoils are the faults. Each wraps a queue, and changes one thing.
var spoils = map[string]func(namedQueue) namedQueue{
	"an add of an item in processing is lost": func(q namedQueue) namedQueue { return &losesDirty{namedQueue: q} },
	"an item is handed out twice":             func(q namedQueue) namedQueue { return &repeatsItem{namedQueue: q} },
	"every Done is called twice":              func(q namedQueue) namedQueue { return doneTwice{q} },
	"delays expire a tick early":              func(q namedQueue) namedQueue { return shiftsDelay{q, -time.Millisecond} },
	"delays expire a tick late":               func(q namedQueue) namedQueue { return shiftsDelay{q, time.Millisecond} },
	"a negative delay is dropped":             func(q namedQueue) namedQueue { return dropsNegative{q} },
	"Len counts delayed items":                func(q namedQueue) namedQueue { return countsDelayed{q} },
	"a drain does not drain":                  func(q namedQueue) namedQueue { return drainsNothing{q} },
	"a second ShutDown panics":                func(q namedQueue) namedQueue { return &panicsTwice{namedQueue: q} },
	"ready items are lost in a shutdown":      func(q namedQueue) namedQueue { return losesReady{q} },
	"Forget is a Done":                        func(q namedQueue) namedQueue { return forgetsAll{q} },
	"the limiter is not asked":                func(q namedQueue) namedQueue { return unlimited{q} },
	"a context is ignored":                    func(q namedQueue) namedQueue { return ignoresContext{q} },
	"a loop's item is not Done":               func(q namedQueue) namedQueue { return neverDone{q} },
	"a batch is added in reverse":             func(q namedQueue) namedQueue { return reversesBatch{q} },
	"a batch with a delay is added at once":   func(q namedQueue) namedQueue { return hastensBatch{q} },
	"a batch is one item":                     func(q namedQueue) namedQueue { return getsOne{q} },
	"of a batch the first is Done":            func(q namedQueue) namedQueue { return endsFirst{q} },
	"the earliest deadline always counts":     func(q namedQueue) namedQueue { return ignoresPolicy{q} },
	"MaxWait is ignored":                      func(q namedQueue) namedQueue { return ignoresMaxWait{q} },
	"Cancel ends the delay alone":             func(q namedQueue) namedQueue { return cancelsLittle{q} },
	"Cancel does more than it says":           func(q namedQueue) namedQueue { return cancelsSilently{q} },
	"TryAdd knows no bound":                   func(q namedQueue) namedQueue { return takesAll{q} },
	"AddContext does not wait":                func(q namedQueue) namedQueue { return neverWaits{q} },
	"a drain drops delayed items":             func(q namedQueue) namedQueue { return dropsAlways{q} },
	"a drain does not say what it dropped":    func(q namedQueue) namedQueue { return dropsSilently{q} },
	"a drain names nothing that is left":      func(q namedQueue) namedQueue { return drainsQuietly{q} },
	"All leaves one out":                      func(q namedQueue) namedQueue { return hidesOne{q} },
	"All knows of no dirty items":             func(q namedQueue) namedQueue { return washes{q} },
	"a snapshot knows no limit":               func(q namedQueue) namedQueue { return showsAll{q} },
	"a snapshot is of no time":                func(q namedQueue) namedQueue { return timeless{q} },
	"Held counts nothing":                     func(q namedQueue) namedQueue { return holdsNothing{q} },
	"deduplicated adds are not counted":       func(q namedQueue) namedQueue { return deduplicatesSilently{q} },
	"a stale end ends another's turn":         func(q namedQueue) namedQueue { return endsByName{q} },
	"a second end of a claim has no error":    func(q namedQueue) namedQueue { return endsQuietly{q} },
	"an ended claim is valid":                 func(q namedQueue) namedQueue { return alwaysValid{q} },
	"a retry loses the priority":              func(q namedQueue) namedQueue { return levels{q} },
	"Release is a Done":                       func(q namedQueue) namedQueue { return endsAs{q, byRelease, byDone} },
	"RequeueAfter is a Retry":                 func(q namedQueue) namedQueue { return endsAs{q, byRequeueAfter, byRetry} },
	"Retry is a Release":                      func(q namedQueue) namedQueue { return endsAs{q, byRetry, byRelease} },
	"Done leaves the failures":                func(q namedQueue) namedQueue { return remembersFailures{q} },
	"DoneClaims ends the first":               func(q namedQueue) namedQueue { return endsFirstClaim{q} },
	"a batch is one claim":                    func(q namedQueue) namedQueue { return claimsOne{q} },
	"a claim's context is ignored":            func(q namedQueue) namedQueue { return claimsForever{q} },
	"fences do not rise":                      func(q namedQueue) namedQueue { return sameFence{q} },
}

type losesDirty struct {
	namedQueue
	held sync.Map
}

func (q *losesDirty) get() (string, string) {
	item, reason := q.namedQueue.get()
	q.held.Store(item, true)
	return item, reason
}

func (q *losesDirty) add(name string) {
	if _, held := q.held.Load(name); !held {
		q.namedQueue.add(name)
	}
}

func (q *losesDirty) done(name string) {
	q.held.Delete(name)
	q.namedQueue.done(name)
}

type repeatsItem struct {
	namedQueue
	last atomic.Pointer[string]
}

func (q *repeatsItem) get() (string, string) {
	if last := q.last.Swap(nil); last != nil {
		return *last, ""
	}
	item, reason := q.namedQueue.get()
	if reason == "" {
		q.last.Store(&item)
	}
	return item, reason
}

type doneTwice struct{ namedQueue }

func (q doneTwice) done(name string) {
	q.namedQueue.done(name)
	q.namedQueue.done(name)
}

type shiftsDelay struct {
	namedQueue
	by time.Duration
}

func (q shiftsDelay) addAfter(name string, d time.Duration) { q.namedQueue.addAfter(name, d+q.by) }

type dropsNegative struct{ namedQueue }

func (q dropsNegative) addAfter(name string, d time.Duration) {
	if d >= 0 {
		q.namedQueue.addAfter(name, d)
	}
}

type countsDelayed struct{ namedQueue }

func (q countsDelayed) len() int { return q.namedQueue.len() + q.stats().Delayed }

type drainsNothing struct{ namedQueue }

func (q drainsNothing) shutDownWithDrain() { q.shutDown() }

type panicsTwice struct {
	namedQueue
	before bool
}

func (q *panicsTwice) shutDown() {
	if q.before {
		panic("close of closed channel")
	}
	q.before = true
	q.namedQueue.shutDown()
}

type losesReady struct{ namedQueue }

func (q losesReady) get() (string, string) {
	if q.shuttingDown() {
		return "", shutDown
	}
	return q.namedQueue.get()
}

type forgetsAll struct{ namedQueue }

func (q forgetsAll) forget(name string) {
	q.namedQueue.forget(name)
	q.done(name)
}

type unlimited struct{ namedQueue }

func (q unlimited) addRateLimited(name string) { q.addAfter(name, 5*time.Millisecond) }

type ignoresContext struct{ namedQueue }

func (q ignoresContext) getContext(context.Context) (string, string) { return q.get() }

type deduplicatesSilently struct{ namedQueue }

func (q deduplicatesSilently) stats() shardq.Stats {
	stats := q.namedQueue.stats()
	stats.Deduplicated = 0
	return stats
}

type neverDone struct{ namedQueue }

func (q neverDone) items(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			item, reason := q.getContext(ctx)
			if reason != "" || !yield(item) {
				return
			}
		}
	}
}

type reversesBatch struct{ namedQueue }

func (q reversesBatch) addBatch(names []string) {
	names = slices.Clone(names)
	slices.Reverse(names)
	q.namedQueue.addBatch(names)
}

type hastensBatch struct{ namedQueue }

func (q hastensBatch) addBatchAfter(names []string, _ time.Duration) { q.namedQueue.addBatch(names) }

type getsOne struct{ namedQueue }

func (q getsOne) getBatch(ctx context.Context, n int) ([]string, string) {
	return q.namedQueue.getBatch(ctx, min(n, 1))
}

type endsFirst struct{ namedQueue }

func (q endsFirst) doneBatch(names []string) { q.done(names[0]) }

type ignoresPolicy struct{ namedQueue }

func (q ignoresPolicy) addWith(name string, options shardq.AddOptions) {
	options.Policy = shardq.KeepEarliest
	q.namedQueue.addWith(name, options)
}

type ignoresMaxWait struct{ namedQueue }

func (q ignoresMaxWait) addWith(name string, options shardq.AddOptions) {
	options.MaxWait = 0
	q.namedQueue.addWith(name, options)
}

type cancelsLittle struct{ namedQueue }

func (q cancelsLittle) cancel(name string) shardq.Canceled {
	was := q.namedQueue.cancel(name)
	if was.Ready || was.Dirty {
		q.add(name)
	}
	return was
}

type cancelsSilently struct{ namedQueue }

func (q cancelsSilently) cancel(name string) shardq.Canceled {
	was := q.namedQueue.cancel(name)
	return shardq.Canceled{Ready: was.Ready}
}

type takesAll struct{ namedQueue }

func (q takesAll) tryAdd(name string) string {
	q.add(name)
	return admitted
}

type neverWaits struct{ namedQueue }

func (q neverWaits) addContext(_ context.Context, name string) string { return q.tryAdd(name) }

type dropsAlways struct{ namedQueue }

func (q dropsAlways) drain(ctx context.Context, _ shardq.DrainOptions) ([]string, error) {
	return q.namedQueue.drain(ctx, shardq.DrainOptions{})
}

type dropsSilently struct{ namedQueue }

func (q dropsSilently) drain(ctx context.Context, options shardq.DrainOptions) ([]string, error) {
	_, err := q.namedQueue.drain(ctx, options)
	return nil, err
}

type drainsQuietly struct{ namedQueue }

func (q drainsQuietly) drain(ctx context.Context, options shardq.DrainOptions) ([]string, error) {
	dropped, err := q.namedQueue.drain(ctx, options)
	if left := (*leftOver)(nil); errors.As(err, &left) {
		left.items = nil
	}
	return dropped, err
}

type hidesOne struct{ namedQueue }

func (q hidesOne) all(state stats.State) iter.Seq[stats.Item[string]] {
	rows := slices.Collect(q.namedQueue.all(state))
	return slices.Values(rows[min(1, len(rows)):])
}

type washes struct{ namedQueue }

func (q washes) all(state stats.State) iter.Seq[stats.Item[string]] {
	rows := slices.Collect(q.namedQueue.all(state))
	for i := range rows {
		rows[i].Dirty = false
	}
	return slices.Values(rows)
}

type showsAll struct{ namedQueue }

func (q showsAll) snapshot(int) shardq.Snapshot[string] { return q.namedQueue.snapshot(1 << 10) }

type timeless struct{ namedQueue }

func (q timeless) snapshot(limit int) shardq.Snapshot[string] {
	s := q.namedQueue.snapshot(limit)
	s.Time = time.Time{}
	return s
}

type holdsNothing struct{ namedQueue }

func (q holdsNothing) stats() shardq.Stats {
	stats := q.namedQueue.stats()
	stats.Held = 0
	return stats
}

type endsByName struct{ namedQueue }

func (q endsByName) endClaim(c claim, way string, d time.Duration) string {
	why := q.namedQueue.endClaim(c, way, d)
	if why == hasEnded {
		q.done(c.item)
	}
	return why
}

type endsQuietly struct{ namedQueue }

func (q endsQuietly) endClaim(c claim, way string, d time.Duration) string {
	return strings.TrimPrefix(q.namedQueue.endClaim(c, way, d), hasEnded)
}

type alwaysValid struct{ namedQueue }

func (q alwaysValid) valid(claim) bool { return true }

type levels struct{ namedQueue }

func (q levels) endClaim(c claim, way string, d time.Duration) string {
	if value, ok := c.value.(worker.Claim[string]); ok {
		value.Priority = 0
		c.value = value
	}
	return q.namedQueue.endClaim(c, way, d)
}

type endsAs struct {
	namedQueue
	way, other string
}

func (q endsAs) endClaim(c claim, way string, d time.Duration) string {
	if way == q.way {
		way = q.other
	}
	return q.namedQueue.endClaim(c, way, d)
}

type remembersFailures struct{ namedQueue }

func (q remembersFailures) endClaim(c claim, way string, d time.Duration) string {
	if way == byDone && q.valid(c) {
		q.done(c.item)
		return ""
	}
	return q.namedQueue.endClaim(c, way, d)
}

type endsFirstClaim struct{ namedQueue }

func (q endsFirstClaim) doneClaims(claims []claim) string {
	return q.namedQueue.doneClaims(claims[:1])
}

type claimsOne struct{ namedQueue }

func (q claimsOne) claimBatch(ctx context.Context, n int) ([]claim, string) {
	return q.namedQueue.claimBatch(ctx, min(n, 1))
}

type claimsForever struct{ namedQueue }

func (q claimsForever) claim(ctx context.Context) (claim, string) {
	return q.namedQueue.claim(context.WithoutCancel(ctx))
}

type sameFence struct{ namedQueue }

func (q sameFence) fence(claim) uint64 { return 1 }
