package harness

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// A Controlled queue has the methods of section I of
// docs/reference/semantics.md, beyond the method set of client-go. [Features]
// says whether the queues of a target are Controlled.
type Controlled[T comparable] interface {
	AddBatch([]T)
	GetBatch(context.Context, []T) (int, error)
	DoneBatch([]T)
	Items(context.Context) iter.Seq[T]
	AddWith(T, shardq.AddOptions)
	Cancel(T) shardq.Canceled
	TryAdd(T) error
	AddContext(context.Context, T) error
	GetWithPriority() (T, int, bool)
	Drain(context.Context, shardq.DrainOptions) ([]T, error)
	Snapshot(limit int) shardq.Snapshot[T]
	All(stats.State) iter.Seq[stats.Item[T]]
	Groups() iter.Seq[stats.Group]
	Pause()
	Resume()
	SetRate(shardq.Rate)
	PauseGroup(group string, until time.Time)
	ResumeGroup(group string)
	RefreshGroup(group string)
	TryAddWith(T, shardq.AddOptions) error
	AddContextWith(context.Context, T, shardq.AddOptions) error
	AddBatchWith([]T, shardq.AddOptions)
	Claim(context.Context) (worker.Claim[T], error)
	TryClaim() (worker.Claim[T], bool)
	ClaimBatch(context.Context, []worker.Claim[T]) (int, error)
	DoneClaims([]worker.Claim[T]) error
}

// controls is a [Controlled] queue of keys, for actors. Only plans for targets
// that have it use it.
type controls interface {
	addBatch(keys []int)
	getBatch(ctx context.Context, into []int) (n int, err error)
	doneBatch(keys []int)
	items(ctx context.Context) iter.Seq[int]
	addWith(key int, o shardq.AddOptions)
	cancel(key int) shardq.Canceled
	tryAdd(key int) error
	addContext(ctx context.Context, key int) error
	getWithPriority() (key, priority int, shutdown bool)
	drain(ctx context.Context, o shardq.DrainOptions) (dropped []int, err error)
	snapshot(limit int) shardq.Snapshot[int]
	all(state stats.State) iter.Seq[stats.Item[int]]
	groups() iter.Seq[stats.Group]
	pause()
	resume()
	setRate(shardq.Rate)
	pauseGroup(group string, until time.Time)
	resumeGroup(group string)
	refreshGroup(group string)
	tryAddWith(key int, o shardq.AddOptions) error
	addContextWith(ctx context.Context, key int, o shardq.AddOptions) error
	addBatchWith(keys []int, o shardq.AddOptions)
	claim(ctx context.Context) (*claim, error)
	tryClaim() (c *claim, ok bool)
	claimBatch(ctx context.Context, size int) ([]*claim, error)
	doneClaims(claims []*claim) error
	newPool(o worker.Options[int], claimed func(key int, called int64)) (runner, error)
	// addUnequalControlled adds, in one of five ways, an item that is not equal
	// to itself. It reports whether the result, if there is one, says so.
	addUnequalControlled(way int) bool
}

// waysToAddUnequal is the number of ways beyond the three of client-go.
const waysToAddUnequal = 5

func (a adapted[T]) encodeAll(keys []int) []T {
	items := make([]T, len(keys))
	for i, key := range keys {
		items[i] = a.codec.encode(key)
	}
	return items
}

func (a adapted[T]) addBatch(keys []int)  { a.control.AddBatch(a.encodeAll(keys)) }
func (a adapted[T]) doneBatch(keys []int) { a.control.DoneBatch(a.encodeAll(keys)) }

func (a adapted[T]) getBatch(ctx context.Context, into []int) (n int, err error) {
	items := make([]T, len(into))
	n, err = a.control.GetBatch(ctx, items)
	for i := range min(n, len(into)) {
		into[i] = a.codec.decode(items[i])
	}
	return n, err
}

func (a adapted[T]) items(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for item := range a.control.Items(ctx) {
			if !yield(a.codec.decode(item)) {
				return
			}
		}
	}
}

func (a adapted[T]) addWith(key int, o shardq.AddOptions) { a.control.AddWith(a.codec.encode(key), o) }
func (a adapted[T]) cancel(key int) shardq.Canceled       { return a.control.Cancel(a.codec.encode(key)) }
func (a adapted[T]) tryAdd(key int) error                 { return a.control.TryAdd(a.codec.encode(key)) }

func (a adapted[T]) addContext(ctx context.Context, key int) error {
	return a.control.AddContext(ctx, a.codec.encode(key))
}

func (a adapted[T]) getWithPriority() (key, priority int, shutdown bool) {
	item, priority, shutdown := a.control.GetWithPriority()
	if shutdown {
		return 0, priority, true
	}
	return a.codec.decode(item), priority, false
}

func (a adapted[T]) drain(ctx context.Context, o shardq.DrainOptions) (dropped []int, err error) {
	items, err := a.control.Drain(ctx, o)
	for _, item := range items {
		dropped = append(dropped, a.codec.decode(item))
	}
	var left *shardq.DrainError[T]
	if errors.As(err, &left) {
		err = &drainLeft{error: err, items: a.decodeAll(left.Left()),
			ready: left.Ready, processing: left.Processing, delayed: left.Delayed}
	}
	return dropped, err
}

// drainLeft is a DrainError about keys.
type drainLeft struct {
	error
	items                      []stats.Item[int]
	ready, processing, delayed int
}

func (l *drainLeft) Unwrap() error { return l.error }

func (a adapted[T]) snapshot(limit int) shardq.Snapshot[int] {
	s := a.control.Snapshot(limit)
	return shardq.Snapshot[int]{
		Time: s.Time, Stats: s.Stats,
		Processing: a.decodeAll(s.Processing), Ready: a.decodeAll(s.Ready), Delayed: a.decodeAll(s.Delayed),
	}
}

func (a adapted[T]) all(state stats.State) iter.Seq[stats.Item[int]] {
	return func(yield func(stats.Item[int]) bool) {
		for row := range a.control.All(state) {
			if !yield(infoOf(row, a.codec.decode)) {
				return
			}
		}
	}
}

func (a adapted[T]) groups() iter.Seq[stats.Group] { return a.control.Groups() }

func (a adapted[T]) pause()                    { a.control.Pause() }
func (a adapted[T]) resume()                   { a.control.Resume() }
func (a adapted[T]) setRate(r shardq.Rate)     { a.control.SetRate(r) }
func (a adapted[T]) resumeGroup(group string)  { a.control.ResumeGroup(group) }
func (a adapted[T]) refreshGroup(group string) { a.control.RefreshGroup(group) }

func (a adapted[T]) pauseGroup(group string, until time.Time) { a.control.PauseGroup(group, until) }

func (a adapted[T]) tryAddWith(key int, o shardq.AddOptions) error {
	return a.control.TryAddWith(a.codec.encode(key), o)
}

func (a adapted[T]) addContextWith(ctx context.Context, key int, o shardq.AddOptions) error {
	return a.control.AddContextWith(ctx, a.codec.encode(key), o)
}

func (a adapted[T]) addBatchWith(keys []int, o shardq.AddOptions) {
	a.control.AddBatchWith(a.encodeAll(keys), o)
}

func (a adapted[T]) decodeAll(rows []stats.Item[T]) (decoded []stats.Item[int]) {
	for _, row := range rows {
		decoded = append(decoded, infoOf(row, a.codec.decode))
	}
	return decoded
}

// infoOf converts information about an item to its key.
func infoOf[T comparable](row stats.Item[T], decode func(T) int) stats.Item[int] {
	return stats.Item[int]{
		Item: decode(row.Item), State: row.State, Dirty: row.Dirty, Since: row.Since,
		Deadline: row.Deadline, Priority: row.Priority, Attempts: row.Attempts, Shard: row.Shard, Group: row.Group,
	}
}

func (a adapted[T]) addUnequalControlled(way int) bool {
	item := a.codec.unequal
	switch way {
	case 0:
		a.control.AddBatch([]T{item})
	case 1:
		a.control.AddWith(item, shardq.AddOptions{After: longestDelay, RateLimited: true})
	case 2:
		a.control.AddWith(item, shardq.AddOptions{Policy: shardq.KeepNew})
	case 3:
		return a.control.TryAdd(item) == shardq.ErrRejected
	default:
		return a.control.AddContext(context.Background(), item) == shardq.ErrRejected
	}
	return true
}

// A claimer is a queue that ends claims in its own way.
type claimer[T comparable] interface {
	rightsOf(worker.Claim[T]) rights
}

func (a adapted[T]) claimOf(own worker.Claim[T]) *claim {
	c := &claim{rights: own, key: a.codec.decode(own.Item), priority: own.Priority, own: own}
	if q, is := a.Typed.(claimer[T]); is {
		c.rights = q.rightsOf(own)
	}
	return c
}

func (a adapted[T]) claim(ctx context.Context) (*claim, error) {
	own, err := a.control.Claim(ctx)
	if err != nil {
		return nil, err
	}
	return a.claimOf(own), nil
}

func (a adapted[T]) tryClaim() (c *claim, ok bool) {
	own, ok := a.control.TryClaim()
	if !ok {
		return nil, false
	}
	return a.claimOf(own), true
}

func (a adapted[T]) claimBatch(ctx context.Context, size int) (claims []*claim, err error) {
	into := make([]worker.Claim[T], size)
	n, err := a.control.ClaimBatch(ctx, into)
	for _, own := range into[:n] {
		claims = append(claims, a.claimOf(own))
	}
	return claims, err
}

func (a adapted[T]) doneClaims(claims []*claim) error {
	own := make([]worker.Claim[T], len(claims))
	for i, c := range claims {
		own[i] = c.own.(worker.Claim[T])
	}
	return a.control.DoneClaims(own)
}

// A poolMaker is a queue with its own NewPool.
type poolMaker[T comparable] interface {
	NewPool(o worker.Options[T], claimed func(item T, called int64)) (runner, error)
}

func (a adapted[T]) newPool(o worker.Options[int], claimed func(key int, called int64)) (runner, error) {
	translated := worker.Options[T]{
		Workers: o.Workers, BatchSize: o.BatchSize, MaxAttempts: o.MaxAttempts,
		OnError:   func(ctx context.Context, f worker.Failure[T]) { o.OnError(ctx, failureOf(f, a.codec.decode)) },
		OnDiscard: func(ctx context.Context, f worker.Failure[T]) { o.OnDiscard(ctx, failureOf(f, a.codec.decode)) },
	}
	if o.Handle != nil {
		translated.Handle = func(ctx context.Context, item T) error { return o.Handle(ctx, a.codec.decode(item)) }
	} else {
		translated.HandleBatch = func(ctx context.Context, items []T) []error {
			keys := make([]int, len(items))
			for i, item := range items {
				keys[i] = a.codec.decode(item)
			}
			return o.HandleBatch(ctx, keys)
		}
	}
	claimedItem := func(item T, called int64) { claimed(a.codec.decode(item), called) }
	if maker, is := a.Typed.(poolMaker[T]); is {
		return maker.NewPool(translated, claimedItem)
	}
	q := a.Typed.(controlled[T]).Queue
	return worker.New(&stampedSource[T]{q, q.ClaimBatch, claimedItem}, translated)
}

func failureOf[T comparable](f worker.Failure[T], decode func(T) int) worker.Failure[int] {
	return worker.Failure[int]{Queue: f.Queue, Item: decode(f.Item), Err: f.Err, Attempt: f.Attempt, Reason: f.Reason}
}
