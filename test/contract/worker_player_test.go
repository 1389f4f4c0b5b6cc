package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/coalesce"
	"github.com/shardq/shardq/internal/testscale"
	"github.com/shardq/shardq/limiter"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

// TestPoolBehavesAsItsModel plays random calls to a pool and its queue, and
// decides what each handler returns, and when. After each step it compares
// everything that can be seen with a model.
func TestPoolBehavesAsItsModel(t *testing.T) {
	testscale.Rapid(40_000)
	rapid.Check(t, checkPool)
}

func FuzzPool(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkPool)) }

func checkPool(rt *rapid.T) {
	rapid.SyncTest(rt, func(rt *rapid.T) {
		m := &poolModel{poolOptions: drawPool(rt), now: time.Now(), items: map[int]*poolItem{}}
		m.gates = map[int]bucket{-1: {rate: m.rate, full: longAgo}}
		for i, group := range m.groups {
			m.gates[i] = bucket{rate: group.Rate, full: longAgo}
		}
		for item := range rapid.IntRange(1, 8).Draw(rt, "items") {
			m.items[item] = &poolItem{}
		}
		m.wanted, m.left = m.workers, m.calls
		p := startPlayedPool(m.poolOptions)
		p.m = m
		defer p.abandon()
		defer rt.Logf("%v", p)
		p.settle(rt, "run")
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			if p.step(rt); p.isEnded() {
				break
			}
		}
		p.finish(rt)
	})
}

// A drain that drops a delay of an item in processing leaves its failures alone.
func TestC50DropForgetsNoRun(t *testing.T) {
	for _, values := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := startPlayedPool(poolOptions{values: values, shards: 1, workers: 1, drained: true})
			defer p.abandon()
			p.add(0, shardq.AddOptions{})
			synctest.Wait()
			p.answer(0, "f")
			time.Sleep(2 * time.Second)
			p.add(0, shardq.AddOptions{After: time.Hour})
			p.cancel()
			synctest.Wait()
			p.q.ShutDown()
			synctest.Wait()
			require.Equal(t, 1, p.fails(anyItems[0]))
		})
	}
}

// A poolPlayer plays steps to a pool and to its model, to which an item is its
// number in anyItems.
type poolPlayer struct {
	poolOptions
	script
	m      *poolModel // nil in a program
	q      playedSource
	queue  anyQueue
	source *coalesce.Source[any, string] // in place of the queue
	puts   int64
	fails  func(item any) int
	pool   playedPool
	cancel context.CancelFunc
	armed  atomic.Value // the function of the user that panics at its next call
	forgot atomic.Bool  // Forget has panicked: the time of a failure is unknown, but not their number

	mu     sync.Mutex
	over   bool
	runs   []*poolRun // the handlers that have not returned
	events []string
	left   int // the number of calls of hooks until one panics or exits
	ended  bool
	err    error
	panics *worker.PanicError
	wrong  string // what a handler or middleware has found wrong
	shrank bool   // in this step
	lost   int    // how many busy workers must leave, at most
}

type playedSource interface {
	Pause()
	Resume()
	ShutDown()
	Stats() shardq.Stats
	Inspect() stats.Inspection
}

type playedPool interface {
	Run(ctx context.Context) error
	Resize(n int)
	ResizeBy(n int) int
	Len() int
}

// A poolRun is a call of a handler.
type poolRun struct {
	items  []int
	values []string
	known  bool // to the model
	old    bool // it was there at the last Resize, so that its worker may have to leave
	answer chan string
}

var errForGood = errors.New("on purpose for good")

// poolRates are rates whose tokens do not come beside other events.
var poolRates = []shardq.Rate{{}, {PerSecond: 0.29}, {PerSecond: 0.31, Burst: 2}}

func drawPool(rt *rapid.T) (o poolOptions) {
	o.values, o.own = rapid.Bool().Draw(rt, "values"), rapid.Bool().Draw(rt, "own limiter")
	backoff := rapid.Bool().Draw(rt, "KeepBackoff or PutEndsBackoff")
	o.keeps, o.putEnds = backoff && !o.values, backoff && o.values
	o.shards, o.workers = rapid.SampledFrom([]int{1, 3}).Draw(rt, "shards"), rapid.IntRange(1, 4).Draw(rt, "workers")
	for i := range rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(rt, "groups") {
		o.groups = append(o.groups, shardq.GroupPolicy{
			Weight: rapid.IntRange(1, 3).Draw(rt, "Weight"), Limit: rapid.IntRange(0, 2).Draw(rt, code("Limit %d", i)),
		})
	}
	o.most = rapid.IntRange(0, 3).Draw(rt, "MaxAttempts")
	o.elapsed = time.Duration(rapid.IntRange(0, 2).Draw(rt, "MaxElapsed")) * 7 * time.Second
	o.leftover = rapid.Bool().Draw(rt, "OnLeftover")
	if rapid.Bool().Draw(rt, "times out") {
		o.limit = 10_007 * time.Millisecond // no two events happen at once
	}
	if rapid.Bool().Draw(rt, "batches") {
		o.batch, o.weight = rapid.IntRange(1, 4).Draw(rt, "BatchSize"), max(0, rapid.IntRange(-4, 4).Draw(rt, "BatchWeight"))
		if (o.workers == 1 || o.weight == 0) && rapid.Bool().Draw(rt, "lingers") {
			o.linger = 5_003 * time.Millisecond
		}
	} else {
		o.again, o.canceled = rapid.Bool().Draw(rt, "again"), rapid.Bool().Draw(rt, "canceled")
	}
	if o.drained = rapid.Bool().Draw(rt, "drains"); o.drained {
		o.drain.Delayed = shardq.DelayedPolicy(rapid.IntRange(0, 2).Draw(rt, "delayed"))
		o.drain.Retries = shardq.RetryPolicy(rapid.IntRange(0, 2).Draw(rt, "retries"))
		o.until = time.Duration(rapid.IntRange(0, 1).Draw(rt, "DrainTimeout")) * 20_013 * time.Millisecond
	}
	o.leftover = o.leftover || o.values && o.batch > 0 && o.drained  // see isTakenFirst
	if !o.values && o.batch == 0 && rapid.Bool().Draw(rt, "rates") { // otherwise tokens go to what is given back unseen
		o.rate = rapid.SampledFrom(poolRates).Draw(rt, "Rate")
		for i := range o.groups {
			o.groups[i].Rate = rapid.SampledFrom(poolRates).Draw(rt, "rate of groups")
		}
	}
	o.calls = rapid.IntRange(0, 12).Draw(rt, "fault of a hook")
	o.fault = rapid.SampledFrom([]string{"panic", "Goexit"}).Draw(rt, "fault")
	return o
}

// startPlayedPool runs a pool, also in a program.
func startPlayedPool(o poolOptions) *poolPlayer {
	p := &poolPlayer{poolOptions: o, left: o.calls}
	p.armed.Store("")
	options := shardq.Options[any]{
		Shards: o.shards, Metrics: true, Tick: 1, KeepBackoff: o.keeps,
		Rate:        o.rate,
		RateLimiter: hookedLimiter[any]{limiter.NewExponential[any](time.Second, 32*time.Second), p.user},
		Hash:        func(item any) uint64 { return uint64(numberOf(item)) * 0x9e3779b97f4a7c15 },
	}
	if len(o.groups) > 0 {
		options.Hash, options.Group = nil, func(item any) string { return code("%d", o.groupOf(numberOf(item))) }
		options.GroupPolicy = func(group string) shardq.GroupPolicy {
			p.user("GroupPolicy")
			return o.groups[group[0]-'0']
		}
	}
	if o.own {
		options.RateLimiter = nil
	}
	if o.values {
		c := coalesce.MustNew(coalesce.Options[any, string]{
			Queue: options, PutEndsBackoff: o.putEnds, Merge: func(a, b string) string { return a + b },
		})
		p.source, _ = c.NewSource("log", 0)
		p.q, p.fails, p.pool = c, c.Queue().NumRequeues, newPlayedPool(p, c, c.DrainWith)
	} else {
		p.queue = shardq.MustNew(options)
		p.q, p.fails, p.pool = p.queue, p.queue.NumRequeues, newPlayedPool(p, p.queue, p.queue.DrainWith)
	}
	if got := p.pool.ResizeBy(o.workers - 2); got != o.workers {
		p.wrong = fmt.Sprintf("%d workers before Run, not %d", got, o.workers)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go p.run(ctx)
	return p
}

// user is called by the limiter and the policy of groups.
func (p *poolPlayer) user(function string) {
	if p.armed.CompareAndSwap(function, "") {
		if function == "Forget" {
			p.forgot.Store(true)
		}
		panic(errOnPurpose)
	}
}

func newPlayedPool[T any](
	p *poolPlayer, source worker.Source[T], drainWith func(shardq.DrainOptions) func(context.Context) ([]T, error),
) *worker.Pool[T] {
	o := p.poolOptions
	options := worker.Options[T]{
		Workers: 2, MaxAttempts: o.most, MaxElapsed: o.elapsed, Timeout: o.limit, OnError: hookOf[T](p, "error"), OnDiscard: hookOf[T](p, "discard"),
		CancelIfAddedAgain: o.again, CancelIfCanceled: o.canceled, BatchSize: o.batch, BatchWeight: o.weight, Linger: o.linger,
	}
	if o.leftover {
		options.OnLeftover = hookOf[T](p, "leftover")
	}
	if o.batch > 0 {
		options.HandleBatch = func(ctx context.Context, items []T) []error { return handleBatch(ctx, p, items) }
	} else {
		options.Handle = func(ctx context.Context, item T) error { return handle(ctx, p, item) }
		options.Use = middlewareOf[T](p)
	}
	if o.weight > 0 {
		options.Weigh = func(item T) int {
			number, _ := partsOf(item)
			return weightOf(number)
		}
	}
	if o.drained {
		options.Drain, options.DrainTimeout = drainWith(o.drain), o.until
	}
	pool, err := worker.New(source, options)
	if err != nil {
		panic(err)
	}
	return pool
}

// add adds an item, or puts a value.
func (p *poolPlayer) add(item int, o shardq.AddOptions) (value string, accepted, panicked bool) {
	defer func() { panicked = recover() != nil }()
	if !p.values {
		p.queue.AddWith(anyItems[item], o)
		return "", true, false
	}
	value = code("%d.", p.puts)
	err := p.source.PutContext(context.Background(), anyItems[item], value, p.puts, coalesce.PutOptions{Delay: o.After, Priority: o.Priority})
	if err == nil {
		p.puts++
	}
	return value, err == nil, false
}

// String returns the program in Go.
func (p *poolPlayer) String() string {
	return p.program(code("p := startPlayedPool(%s)\ndefer p.abandon()\n", goOf(p.poolOptions)))
}

// view waits, and returns what can be seen then. It lists the latest calls of hooks
// once.
func (p *poolPlayer) view() string {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.q.Stats()
	text := code("%d ready, %d delayed, %d processing, %d workers", s.Ready, s.Delayed, s.Processing, p.pool.Len())
	var runs []string
	for _, run := range p.runs {
		text := fmt.Sprint(run.items)
		if p.values {
			text += fmt.Sprint(run.values)
		}
		runs = append(runs, text)
	}
	slices.Sort(runs)
	slices.Sort(p.events)
	if p.values {
		text += code(", %d is safe", p.source.Safe())
	}
	text += code("; handlers have %v; hooks: %q; ended: %v %s", runs, p.events, p.ended, p.wrong)
	if p.m == nil {
		p.events = nil
	}
	return text
}

func (p *poolPlayer) run(ctx context.Context) {
	var err error
	panics := panicOf(func() { err = p.pool.Run(ctx) })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.err, p.panics = true, err, panics
}

func (p *poolPlayer) isEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// hookOf returns a hook that notes its calls.
func hookOf[T any](p *poolPlayer, name string) func(context.Context, worker.Failure[T]) {
	return func(ctx context.Context, f worker.Failure[T]) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, callOf(name, f))
		if ctx.Err() != nil || f.Final != (f.Reason != worker.ReasonNone) {
			p.wrong = fmt.Sprintf("the hook %s has a context with %v, and %+v", name, ctx.Err(), f)
		}
		if p.left--; p.left == 0 && p.fault == "panic" {
			panic(errOnPurpose)
		} else if p.left == 0 {
			runtime.Goexit()
		}
	}
}

func numberOf(item any) int { return slices.Index(anyItems, item) }

// partsOf returns the number of an item, or of an entry's key with its value.
func partsOf[T any](item T) (number int, value string) {
	if e, is := any(item).(joinEntry); is {
		return numberOf(e.Key), e.Value
	}
	return numberOf(item), ""
}

func callOf[T any](hook string, f worker.Failure[T]) string {
	number, value := partsOf(f.Item)
	return hookCall(hook, number, value, f.Attempt, f.Reason.String(), kindOf(f.Err), f.Requeued, f.Duration, f.FirstFailure)
}

// middlewareOf returns two functions of which the first is the outermost. They
// check what a handler can ask about its item.
func middlewareOf[T any](p *poolPlayer) []worker.Middleware[T] {
	type key struct{}
	outer := func(next worker.Handler[T]) worker.Handler[T] {
		return func(ctx context.Context, item T) error { return next(context.WithValue(ctx, key{}, item), item) }
	}
	inner := func(next worker.Handler[T]) worker.Handler[T] {
		return func(ctx context.Context, item T) error {
			number, _ := partsOf(item)
			a, ok := worker.AttemptOf[T](ctx)
			if !ok || ctx.Value(key{}) != any(item) || a.Number() != p.fails(anyItems[number])+1 || !p.forgot.Load() && a.FirstFailure().IsZero() != (a.Number() == 1) || a.Priority() != priorityOf(number) {
				p.mu.Lock()
				p.wrong = fmt.Sprintf("%v has %v, %+v with priority %d", item, ctx.Value(key{}), a, a.Priority())
				p.mu.Unlock()
			}
			return next(ctx, item)
		}
	}
	return []worker.Middleware[T]{outer, inner}
}

// begin notes the call of a handler, and waits for its answer.
func begin[T any](p *poolPlayer, items ...T) string {
	run := &poolRun{answer: make(chan string)}
	for _, item := range items {
		number, value := partsOf(item)
		run.items, run.values = append(run.items, number), append(run.values, value)
	}
	p.mu.Lock()
	p.runs = append(p.runs, run)
	over := p.over
	p.mu.Unlock()
	if over {
		return success
	}
	return <-run.answer
}

// success is the answer for the largest batch.
const success = "ssss"

// abandon ends everything, also after a step that has failed.
func (p *poolPlayer) abandon() {
	p.mu.Lock()
	p.over = true
	for _, run := range p.runs {
		close(run.answer)
	}
	p.mu.Unlock()
	p.q.Resume()
	p.cancel()
	p.q.ShutDown()
	synctest.Wait()
}

func handle[T any](ctx context.Context, p *poolPlayer, item T) error {
	for _, what := range begin(p, item) {
		return errorOf(ctx, what)
	}
	return nil
}

func handleBatch[T any](ctx context.Context, p *poolPlayer, items []T) []error {
	answers := begin(p, items...)
	clear(items) // the handler owns the slice
	errs := make([]error, len(items))
	for i, what := range answers {
		if what == 'w' {
			return make([]error, len(items)+1)
		}
		errs[i] = errorOf(ctx, what)
	}
	return errs
}

func errorOf(ctx context.Context, what answer) error {
	switch what {
	case 'f':
		return errOnPurpose
	case 'r':
		return fmt.Errorf("wrapped: %w", worker.RetryAfter(leastDelay, errOnPurpose))
	case 'g':
		return fmt.Errorf("wrapped: %w", worker.Permanent(errForGood))
	case 'p':
		panic(errOnPurpose)
	case 'x':
		runtime.Goexit()
	case 'a':
		return worker.RequeueAfter(time.Second)
	case 'z':
		return worker.RequeueAfter(0)
	case 'c':
		return ctx.Err()
	case 'k':
		return worker.Permanent(ctx.Err())
	}
	return nil
}

func (p *poolPlayer) step(rt *rapid.T) {
	m := p.m
	item := rapid.IntRange(0, len(m.items)-1).Draw(rt, "item")
	step := rapid.SampledFrom(strings.Fields("add add delay cancel finish finish finish finish at-once at-once pass pass resize pause end")).Draw(rt, "step")
	switch step {
	case "add", "delay":
		o := drawAdd(rt, item, step)
		p.drawFault(rt, "GroupPolicy")
		p.write("p.add(%d, %s)", item, goOf(o))
		if value, accepted, panicked := p.add(item, o); panicked { // C17: nothing is accepted
			m.armed = ""
		} else if !m.values {
			m.Add(item, o.After)
		} else if m.Put(item, o.After, value) != accepted {
			p.wrong = fmt.Sprintf("accepted %s: %v", value, accepted)
		}
	case "cancel":
		if it := m.items[item]; slices.Contains(m.dropped, item) && !it.taken && it.failures > 0 {
			break // the drain may end, and count its failures, before they are forgotten
		}
		p.write("p.q.Inspect().Operator().Cancel(anyItems[%d])", item)
		p.q.Inspect().Operator().Cancel(anyItems[item])
		if _, held := p.q.Inspect().Lookup(anyItems[item]); !held && m.items[item].vague {
			m.items[item].pending = strings.ReplaceAll(m.items[item].pending, "|", "")
		}
		m.Cancel(item)
	case "finish":
		p.finishOne(rt, "")
	case "at-once":
		p.stepsAtOnce(rt)
	case "pass":
		d := time.Duration(rapid.IntRange(1, 10).Draw(rt, "seconds")) * time.Second
		if next := m.Next(); !next.IsZero() && rapid.Bool().Draw(rt, "just before") {
			d = max(0, next.Sub(m.now)-1)
		}
		p.pass(d)
	case "resize":
		least := 1
		if m.ends == isOpen {
			least = 0
		}
		p.resize(rapid.IntRange(least, 4).Draw(rt, "to"), rapid.Bool().Draw(rt, "by"))
	case "pause":
		p.pause(!m.paused && m.ends == isOpen)
	case "end":
		p.pause(false)
		p.settle(rt, "resume")
		p.end(rt)
	}
	p.settle(rt, step)
}

func drawAdd(rt *rapid.T, item int, what string) shardq.AddOptions {
	o := shardq.AddOptions{Priority: priorityOf(item)}
	if what == "delay" {
		o.After = time.Duration(rapid.IntRange(1, 20).Draw(rt, "seconds")) * time.Second
	}
	return o
}

// stepsAtOnce makes steps in goroutines that begin together. They commute, because
// each has items of its own (C1), and no hook panics.
func (p *poolPlayer) stepsAtOnce(rt *rapid.T) {
	m, used, puts := p.m, map[int]bool{}, false
	var calls []func()
	for range rapid.IntRange(2, 4).Draw(rt, "calls") {
		item := rapid.IntRange(0, len(m.items)-1).Draw(rt, "item")
		it := m.items[item]
		switch what := rapid.SampledFrom(strings.Fields("add delay cancel finish finish")).Draw(rt, "call"); {
		case what == "finish":
			if run, answers := p.drawFinish(rt, "", used); run != nil {
				p.write("go p.answer(%d, %q)", run.items[0], answers)
				calls = append(calls, func() { p.answer(run.items[0], answers) })
			}
			continue
		case used[item], it.ready && !it.taken, m.isClosed() && it.taken && it.began.IsZero(): // a worker may be about to take it, or to give it up
			continue
		case what == "cancel":
			if it.began.IsZero() && (it.taken || m.drains) { // its batch may begin, or the drain end because of it
				continue
			}
			m.Cancel(item)
			p.write("go p.q.Inspect().Operator().Cancel(anyItems[%d])", item)
			calls = append(calls, func() { p.q.Inspect().Operator().Cancel(anyItems[item]) })
		case puts && p.values: // a source has one position after the other
			continue
		default:
			o, want := drawAdd(rt, item, what), true
			if puts = true; p.values {
				want = m.Put(item, o.After, code("%d.", p.puts))
			} else {
				m.Add(item, o.After)
			}
			p.write("go p.add(%d, %s)", item, goOf(o))
			calls = append(calls, func() {
				_, accepted, panicked := p.add(item, o)
				p.mu.Lock()
				defer p.mu.Unlock()
				if accepted != want || panicked {
					p.wrong = fmt.Sprintf("put %d: accepted %v, panicked %v", item, accepted, panicked)
				}
			})
		}
		used[item] = true
	}
	for _, call := range calls {
		go call()
	}
}

// drawFault lets one of the user's functions panic during the next step.
func (p *poolPlayer) drawFault(rt *rapid.T, functions ...string) {
	if len(functions) > 0 && rapid.IntRange(0, 9).Draw(rt, "fault of the user") == 9 {
		p.m.armed = rapid.SampledFrom(functions).Draw(rt, "function")
		p.write("p.armed.Store(%q)", p.m.armed)
		p.armed.Store(p.m.armed)
	}
}

func (p *poolPlayer) pause(paused bool) {
	if p.m.paused = paused; paused {
		p.write("p.q.Pause()")
		p.q.Pause()
	} else {
		p.write("p.q.Resume()")
		p.q.Resume()
	}
}

func (p *poolPlayer) end(rt *rapid.T) {
	if p.m.wanted == 0 {
		p.resize(1, false) // otherwise a drain would wait forever
		p.settle(rt, "resize")
	}
	if rapid.IntRange(0, 2).Draw(rt, "end") == 0 {
		p.m.ShutDown()
		p.write("p.q.ShutDown()")
		p.q.ShutDown()
		return
	}
	if !p.drained || !p.m.drains {
		p.m.End(p.until)
	}
	p.write("p.cancel()")
	p.cancel()
}

func (p *poolPlayer) resize(n int, by bool) {
	if p.linger > 0 && p.weight > 0 {
		return // an item that does not fit cannot be told from one that lingers
	}
	delta := n - p.m.wanted
	p.lost += max(-delta, 0)
	p.shrank = delta < 0
	p.m.wanted = n
	if !by {
		p.write("p.pool.Resize(%d)", n)
		p.pool.Resize(n)
		return
	}
	p.write("require.Equal(t, %d, p.pool.ResizeBy(%d))", n, delta)
	if got := p.pool.ResizeBy(delta); got != n {
		p.wrong = fmt.Sprintf("ResizeBy(%d) returns %d, not %d", delta, got, n)
	}
}

// pass lets time pass, at most until the next event.
func (p *poolPlayer) pass(d time.Duration) {
	if next := p.m.Next(); !next.IsZero() {
		d = min(d, next.Sub(p.m.now))
	}
	p.write("time.Sleep(%s)", goOf(d))
	time.Sleep(d)
	p.m.Step(d)
}

// finishOne lets a handler return.
func (p *poolPlayer) finishOne(rt *rapid.T, answers string) {
	if run, answers := p.drawFinish(rt, answers, nil); run != nil {
		p.write("p.answer(%d, %q)", run.items[0], answers)
		p.answer(run.items[0], answers)
	}
}

// drawFinish draws which handler returns what. If other calls are made at once, it
// must have none of their items.
func (p *poolPlayer) drawFinish(rt *rapid.T, answers string, used map[int]bool) (run *poolRun, _ string) {
	p.mu.Lock()
	runs := slices.DeleteFunc(slices.Clone(p.runs), func(run *poolRun) bool {
		panics := p.m.left > 0 && p.m.left <= 2*len(run.items) // perhaps
		return used != nil && (panics || slices.ContainsFunc(run.items, func(item int) bool { return used[item] }))
	})
	p.mu.Unlock()
	if len(runs) == 0 {
		return nil, ""
	}
	run = runs[rapid.IntRange(0, len(runs)-1).Draw(rt, "run")]
	for _, item := range p.m.waitingItems() {
		if p.weight > 0 {
			p.m.items[item].claimed = p.m.now // it may linger from now on
		}
	}
	letters := "sffrgpxazcck"
	if p.m.batch > 0 {
		letters = "ssffrgazcckpxw"
	}
	for len(answers) < len(run.items) {
		answers += string(rapid.SampledFrom([]rune(letters)).Draw(rt, "answer"))
	}
	answers = answers[:len(run.items)]
	var functions []string
	if !p.own {
		functions = []string{"When"}
	}
	// Otherwise it is open which Forget is the first, also beside those of a drain, and
	// of the next batch, which begins without canceled items.
	if !p.own && len(run.items) == 1 && p.m.count(func(it *poolItem) bool { return it.taken && it.canceled }) == 0 && len(p.m.dropped) == 0 {
		functions = append(functions, "Forget")
	}
	if used == nil {
		p.drawFault(rt, functions...)
	}
	whole := strings.IndexAny(answers, "pxw")
	for i, item := range run.items {
		what := rune(answers[i])
		if whole >= 0 {
			what = rune(answers[whole])
		}
		p.m.Finish(item, what)
		if used != nil {
			used[item] = true
		}
	}
	return run, answers
}

// answer lets the handler return that has an item.
func (p *poolPlayer) answer(item int, answers string) {
	p.mu.Lock()
	i := slices.IndexFunc(p.runs, func(run *poolRun) bool { return run.items[0] == item })
	run := p.runs[i]
	p.runs = slices.Delete(p.runs, i, i+1)
	p.mu.Unlock()
	run.answer <- answers
}

// settle waits until nothing happens any more, tells the model what was taken,
// and compares.
func (p *poolPlayer) settle(rt *rapid.T, step string) {
	p.saw(p.view(), "p.view()")
	p.mu.Lock()
	defer p.mu.Unlock()
	if fault := p.observe(); fault != "" {
		p.fail([]string{fault})
		rt.Fatalf("after %s: %s", step, fault)
	}
	if p.m.armed != "" {
		p.m.armed = ""
		p.write("p.armed.Store(\"\")")
		p.armed.Store("")
	}
	p.script.step = len(p.lines)
}

func (p *poolPlayer) observe() (fault string) {
	m := p.m
	if m.stopping {
		m.dropped = slices.DeleteFunc(m.dropped, p.isTakenFirst)
		m.Stop()
	}
	if fault := p.observeTaken(); fault != "" {
		return fault
	}
	for _, it := range m.items {
		it.vague = it.vague || m.stopping && m.batch > 0 && it.ready && !it.taken
	}
	if m.drains && !m.stopped && (m.isOver() || m.isStill()) {
		m.Stop() // the drain is over
	}
	slices.Sort(m.events)
	slices.Sort(p.events)
	if left := p.armed.Load(); left != m.armed {
		return fmt.Sprintf("%q is left to panic, not %q", left, m.armed)
	}
	if !slices.Equal(m.events, p.events) {
		return fmt.Sprintf("the hooks got\n%s\nnot\n%s", strings.Join(p.events, "\n"), strings.Join(m.events, "\n"))
	}
	m.events, p.events, m.stopping = nil, nil, false
	if p.ended != m.isOver() {
		return fmt.Sprintf("Run has returned: %v", p.ended)
	}
	return p.compare()
}

// isTakenFirst reports whether an idle worker has taken the values of a key that a
// drain has dropped, before the drain could take them out. The worker of a batch may
// have given them back, merged.
func (p *poolPlayer) isTakenFirst(item int) bool { // C58
	it := p.m.items[item]
	if !p.values || !it.ready || it.taken {
		return false
	}
	merged := strings.ReplaceAll(it.pending, "|", "")
	if p.batch > 0 && strings.Contains(strings.Join(p.events, ""), code("leftover of %d %s:", item, merged)) {
		it.pending = merged
	}
	row, held := p.q.Inspect().Lookup(anyItems[item])
	return held && (row.State == stats.Processing || p.batch > 0)
}

// observeTaken tells the model which items were taken.
func (p *poolPlayer) observeTaken() (fault string) {
	m := p.m
	var taken, begun, dirty []int
	for _, run := range p.runs {
		if !run.known {
			begun = append(begun, run.items...)
		}
	}
	for _, row := range p.q.Inspect().Snapshot(100).Processing {
		item := numberOf(row.Item)
		taken = append(taken, item)
		if it := m.items[item]; it.taken && it.canceled && it.ready && it.began.IsZero() && (!row.Dirty || slices.Contains(begun, item)) {
			m.Release(item) // its batch has begun without it, and a worker has it again
			if row.Dirty {
				dirty = append(dirty, item) // a drain has ended its delay since
			}
		}
	}
	slices.Sort(taken)
	for _, item := range m.takenItems() {
		if !slices.Contains(taken, item) {
			if it := m.items[item]; !it.began.IsZero() || !m.stopped && !it.canceled {
				return fmt.Sprintf("no worker has %d", item)
			}
			m.Release(item) // its batch had not begun when the pool ended, or begins without it
		}
	}
	held := m.waitingItems()
	for _, item := range taken {
		if it := m.items[item]; !it.taken {
			if fault := m.Take(item); fault != "" {
				return fault
			}
			it.ready = slices.Contains(dirty, item)
		}
	}
	for _, run := range p.runs {
		for i, item := range run.items {
			if it := m.items[item]; !it.taken || it.value != run.values[i] {
				return fmt.Sprintf("a handler has %d with %q: %+v", item, run.values[i], *it)
			}
			if !run.known && m.stopped && !m.stopping && m.batch > 0 {
				return fmt.Sprintf("a handler gets %d after the end", item)
			} else if !run.known && m.items[item].canceled {
				return fmt.Sprintf("a handler gets %d, which was canceled", item)
			} else if !run.known {
				m.Begin(item)
			}
		}
		if !run.known && m.holding && len(held) == 1 && p.pool.Len() == 1 && held[0] != run.items[0] {
			return fmt.Sprintf("%d does not begin the batch %d", held[0], run.items)
		}
		run.known = true
	}
	m.holding = m.weight > 0 && len(p.runs) > 0
	return p.checkTaken()
}

// checkTaken checks that no worker is idle while an item is ready, and that a
// batch waits for more items only as long as it may.
func (p *poolPlayer) checkTaken() (fault string) {
	m, workers := p.m, p.pool.Len()
	idle := workers - len(p.runs)
	waiting := m.waitingItems() // of a batch that waits for more, or too heavy for one that is handled
	for _, item := range waiting {
		if it := m.items[item]; !m.holding && (m.linger == 0 || !m.now.Before(it.claimed.Add(m.linger))) {
			return fmt.Sprintf("a batch still waits: %+v", *it)
		}
	}
	if n := len(waiting); n > 0 && !m.holding && (n > idle*(m.batch-1) || m.weight > 0 && weightOfAll(waiting) >= m.weight || m.stopped || m.drains || m.ends == isShut) {
		return fmt.Sprintf("%d items still wait", n)
	}
	for _, run := range p.runs {
		n, weight := len(run.items), weightOfAll(run.items)
		if n > max(m.batch, 1) || m.weight > 0 && n > 1 && weight > m.weight {
			return fmt.Sprintf("a batch of %d, which weighs %d", n, weight)
		}
		// With a linger, an item that was canceled meanwhile has been weighed.
		fits := m.linger == 0 && len(waiting) == 1 && len(p.runs) == 1 && weight+weightOf(waiting[0]) <= m.weight
		if m.holding && len(waiting) > len(p.runs) || fits {
			return fmt.Sprintf("%d are held beside %d", waiting, run.items)
		}
	}
	for item := range m.items {
		if m.room(item) < 0 {
			return fmt.Sprintf("the group of %d exceeds its limit", item)
		}
	}
	if n := m.takeable(); n > 0 && !m.paused && !m.stopped && len(p.runs) < workers {
		return fmt.Sprintf("%d items can be taken, and of %d workers %d are busy", n, workers, len(p.runs))
	}
	return ""
}

// compare compares the counts, and the number of workers.
func (p *poolPlayer) compare() (fault string) {
	m, s := p.m, p.q.Stats()
	delayed := func(it *poolItem) bool { return !it.due.IsZero() }
	got := []int{s.Ready, s.Delayed, s.Processing}
	want := []int{m.ready(), m.count(delayed), len(m.takenItems())}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("ready, delayed and processing are %v, not %v", got, want)
	}
	for item, it := range m.items {
		row, _ := p.q.Inspect().Lookup(anyItems[item])
		if n := p.fails(anyItems[item]); n != it.failures {
			return fmt.Sprintf("%d has failed %d times, not %d", item, n, it.failures)
		}
		if !row.Deadline.Equal(it.due) || row.Dirty != (it.taken && it.ready) {
			return fmt.Sprintf("the queue has %+v, not %+v", row, *it)
		}
	}
	for result, h := range s.Metrics.Attempts.All() {
		if h.Count != m.results[result] {
			return fmt.Sprintf("%d attempts have the result %v, not %d", h.Count, result, m.results[result])
		}
	}
	if s.Discarded != m.results[stats.Discarded] || s.Misused != 0 || p.wrong != "" {
		return fmt.Sprintf("%d discarded, %d misused. %s", s.Discarded, s.Misused, p.wrong)
	}
	if p.values && p.source.Safe() != m.safe() {
		return fmt.Sprintf("%d is safe, not %d", p.source.Safe(), m.safe())
	}
	workers, busy, old := p.pool.Len(), len(p.runs), 0
	for _, run := range p.runs {
		if run.old = run.old || p.shrank || p.weight > 0; run.old { // C84: a held item comes first
			old++
		}
	}
	p.shrank = false
	p.lost = min(p.lost, max(workers-m.wanted, 0)) // those that were asked to leave do not come back
	switch {
	case m.stopped && m.linger == 0:
		if workers != busy {
			return fmt.Sprintf("%d workers after the end, and %d are busy", workers, busy)
		}
	case m.isClosed(), m.stopped:
	case workers != m.wanted+p.lost || p.lost > old: // C76
		return fmt.Sprintf("%d workers, of which %d may have to leave: want %d, and %d must leave", workers, old, m.wanted, p.lost)
	}
	return ""
}

// finish ends the pool, whatever is left, and checks how Run ends.
func (p *poolPlayer) finish(rt *rapid.T) {
	p.pause(false)
	p.settle(rt, "resume")
	if p.m.ends == isOpen && !p.isEnded() {
		p.end(rt)
		p.settle(rt, "end")
	}
	for range 1000 {
		if p.isEnded() {
			break
		}
		p.finishOne(rt, success)
		p.settle(rt, "finish")
		p.pass(time.Hour)
		p.settle(rt, "pass")
	}
	p.write("p.cancel()")
	p.cancel()
	p.write("p.q.ShutDown()")
	p.q.ShutDown()
	slices.Sort(p.m.kept)
	kept, early, panics := p.result()
	p.saw(outcome(kept, early, panics), "outcome(p.result())")
	left, want := p.pending(), map[int]string{}
	p.saw(outcome(left), "outcome(p.pending())")
	for item, it := range p.m.items {
		if it.pending != "" {
			want[item] = strings.ReplaceAll(it.pending, "|", "")
		}
	}
	fault := ""
	switch {
	case !maps.Equal(left, want):
		fault = fmt.Sprintf("%v is left, not %v", left, want)
	case !p.isEnded():
		fault = "Run does not return"
	case panics != p.m.faulted:
		fault = fmt.Sprintf("Run panics with %v", p.panics)
	case !slices.Equal(kept, p.m.kept):
		fault = "Run must return\n" + strings.Join(p.m.kept, "\n")
	case early != p.m.early && !p.m.faulted, p.err != nil && !early && len(kept) == 0:
		fault = fmt.Sprintf("Run returns %v", p.err)
	}
	if fault != "" {
		p.fail([]string{fault})
		rt.Fatal(fault)
	}
	if again := p.pool.Run(context.Background()); again == nil {
		rt.Fatal("Run runs again")
	}
}

// pending takes out the values that are left.
func (p *poolPlayer) pending() map[int]string {
	values := map[int]string{}
	if !p.values {
		return values
	}
	early, _ := errors.AsType[*coalesce.DrainError[any, string]](p.err)
	if early != nil {
		for _, e := range early.Left() {
			values[numberOf(e.Key)] += e.Value
		}
	}
	for c := p.q.(*coalesce.Coalescer[any, string]); c.Len() > 0; {
		key, value, _ := c.Take(context.Background())
		values[numberOf(key)] += value
		c.Done(key) // its group may be at its limit
	}
	return values
}

// result returns how Run has ended: what it has kept, and whether a drain has ended
// early, and whether it has panicked.
func (p *poolPlayer) result() (kept []string, early, panics bool) {
	if panics = p.panics != nil; panics {
		p.err = p.panics.Run
		if panics = errors.Is(p.panics, errOnPurpose); !panics {
			panic(p.panics)
		}
	}
	_, early = errors.AsType[*shardq.DrainError[any]](p.err)
	kept = append(keptOf[any](p.err), keptOf[joinEntry](p.err)...)
	slices.Sort(kept)
	return kept, early, panics
}

func keptOf[T any](err error) (kept []string) {
	if left, is := errors.AsType[*worker.LeftoverError[T]](err); is {
		for _, f := range left.Left() {
			kept = append(kept, callOf("leftover", f))
		}
	}
	return kept
}
