package shardqotel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/clock"
	"github.com/shardq/shardq/coalesce"
	shardqotel "github.com/shardq/shardq/observe/otel"
	"github.com/shardq/shardq/shardqtest"
	"github.com/shardq/shardq/stats"
	"github.com/shardq/shardq/worker"
)

var errOnPurpose = errors.New("on purpose")

// A traced queue has a Tracer, a driver of its handler, and the spans that have
// ended.
type traced struct {
	*testing.T
	queue    *shardq.Queue[string]
	tracer   *shardqotel.Tracer[string]
	adder    shardqotel.Adder[string]
	script   *shardqtest.Script[string]
	driver   *shardqtest.Driver[string]
	provider *sdktrace.TracerProvider
	recorder *tracetest.SpanRecorder
	read     int
}

func newTraced(t *testing.T, o shardqotel.TracerOptions[string], handle func(context.Context, string) error) *traced {
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := &traced{T: t, recorder: tracetest.NewSpanRecorder(), script: shardqtest.NewScript(handle)}
	s.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.recorder))
	s.queue = shardq.MustNew(shardq.Options[string]{
		Name: "invoices", Shards: 1, Clock: fake, Group: func(string) string { return "tenant" },
	})
	o.Provider = s.provider
	var err error
	s.tracer, err = shardqotel.NewTracer(s.queue, o)
	require.NoError(t, err)
	s.adder = s.tracer.Adder(s.queue)
	s.driver = shardqtest.Drive(t, s.queue, fake, worker.Options[string]{
		Handle: s.tracer.Handle(s.script.Handle), MaxAttempts: 3,
	})
	return s
}

// request returns a context with a span of that name.
func (s *traced) request(name string) context.Context {
	ctx, span := s.provider.Tracer("test").Start(context.Background(), name)
	span.End()
	s.read = len(s.recorder.Ended())
	return ctx
}

// attempts returns the spans that have ended since the last call, or the last
// request.
func (s *traced) attempts() []sdktrace.ReadOnlySpan {
	all := s.recorder.Ended()
	defer func() { s.read = len(all) }()
	return all[s.read:]
}

// step runs the next item, and returns its span.
func (s *traced) step() sdktrace.ReadOnlySpan {
	s.read = len(s.recorder.Ended())
	_, ok := s.driver.Step()
	if !ok {
		s.driver.AdvanceToNext()
		_, ok = s.driver.Step()
	}
	require.True(s, ok, "nothing is queued")
	spans := s.attempts()
	require.Len(s, spans, 1)
	return spans[0]
}

// linked returns the names of the spans that a span is linked to.
func (s *traced) linked(span sdktrace.ReadOnlySpan) []string {
	names := []string{}
	for _, link := range span.Links() {
		for _, other := range s.recorder.Ended() {
			if other.SpanContext().Equal(link.SpanContext) {
				names = append(names, other.Name())
			}
		}
	}
	require.Len(s, names, len(span.Links()))
	return names
}

func attributesOf(span sdktrace.ReadOnlySpan) map[string]any {
	all := map[string]any{}
	for _, a := range span.Attributes() {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

func TestSpanOfAnAttempt(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	s.adder.Add(s.request("GET /a"), "secret")
	s.adder.AddAfter(s.request("GET /b"), "secret", time.Hour)
	span := s.step()
	require.Equal(t, "process invoices", span.Name())
	require.Equal(t, trace.SpanKindConsumer, span.SpanKind())
	require.Equal(t, shardqotel.Scope, span.InstrumentationScope().Name)
	require.False(t, span.Parent().IsValid())
	require.Equal(t, codes.Unset, span.Status().Code)
	require.Equal(t, []string{"GET /a", "GET /b"}, s.linked(span))
	require.Equal(t, map[string]any{
		"messaging.system": "shardq", "messaging.operation.type": "process", "messaging.operation.name": "process",
		"messaging.destination.name": "invoices", "shardq.attempt": int64(1), "shardq.result": "success",
	}, attributesOf(span), "no key, and no group")
	require.Zero(t, s.tracer.Len())
	require.Empty(t, s.linked(s.step()), "the delay of an add that has been served")
}

// TestAddsWithOptions checks each add that takes options, and that one that its
// window refuses is linked to no attempt.
func TestAddsWithOptions(t *testing.T) {
	once := shardq.AddOptions{NotAgainWithin: time.Hour, After: time.Minute}
	type adder = shardqotel.Adder[string]
	for name, add := range map[string]func(adder, context.Context, string, shardq.AddOptions) error{
		"AddWith": func(a adder, ctx context.Context, item string, o shardq.AddOptions) error {
			a.AddWith(ctx, item, o)
			return nil
		},
		"TryAdd": adder.TryAdd, "AddContext": adder.AddContext,
		"AddBatch": func(a adder, ctx context.Context, item string, o shardq.AddOptions) error {
			a.AddBatch(ctx, []string{item}, o)
			return nil
		},
	} {
		s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
		require.NoError(t, add(s.adder, s.request(name), "a", once))
		require.Zero(t, s.queue.Len(), "it is delayed")
		if err := add(s.adder, s.request("refused"), "a", once); name == "TryAdd" || name == "AddContext" {
			require.ErrorIs(t, err, shardq.ErrNotAgain)
		}
		require.NoError(t, add(s.adder, s.request("no window"), "a", shardq.AddOptions{}))
		require.Equal(t, []string{name, "no window"}, s.linked(s.step()))
		require.Zero(t, s.tracer.Len())
	}
}

// An add before the claim is of this attempt, and an add during the attempt of
// the next.
func TestAttemptLinksToWhatItServes(t *testing.T) {
	var s *traced
	s = newTraced(t, shardqotel.TracerOptions[string]{}, func(_ context.Context, item string) error {
		if item == "a" && s.script.Attempts("a") == 1 {
			s.adder.Add(s.request("during"), "a")
		}
		return nil
	})
	s.adder.Add(s.request("before"), "a")
	s.adder.AddWith(s.request("before, too"), "a", shardq.AddOptions{Priority: 1})
	s.adder.Add(s.request("other"), "b")
	s.queue.Add("a") // without a context
	s.driver.RunUntilIdle()
	var all [][]string
	for _, span := range s.recorder.Ended() {
		if span.Name() == "process invoices" {
			all = append(all, s.linked(span))
		}
	}
	require.Equal(t, [][]string{{"before", "before, too"}, {"during"}, {"other"}}, slices.SortedFunc(slices.Values(all), slices.Compare))
}

// An add that has not returned when the attempt begins may be of the next one.
// So both have its link.
func TestAddThatOverlapsTheBeginning(t *testing.T) {
	var s *traced
	begin := func() {}
	s = newTraced(t, shardqotel.TracerOptions[string]{}, func(context.Context, string) error {
		begin()
		return nil
	})
	s.queue.Add("a")
	// The add is recorded, an attempt begins, and then the queue gets the add.
	var first sdktrace.ReadOnlySpan
	require.NoError(t, s.tracer.Link(s.request("late"), "a", func() error {
		begin = func() { s.queue.Add("a") }
		first = s.step()
		return nil
	}))
	begin = func() {}
	require.Equal(t, []string{"late"}, s.linked(first))
	require.Equal(t, []string{"late"}, s.linked(s.step()))

	// The queue gets the add, and an attempt serves it before the add returns.
	require.NoError(t, s.tracer.Link(s.request("early"), "a", func() error {
		s.queue.Add("a")
		require.Equal(t, []string{"early"}, s.linked(s.step()))
		return nil
	}))
	s.adder.Add(s.request("next"), "a")
	require.Equal(t, []string{"next"}, s.linked(s.step()))
}

// A worker has claimed the item, and its handler has not begun, when an add
// makes it dirty.
func TestAddBetweenTheClaimAndTheHandler(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	s.adder.Add(s.request("before"), "a")
	claim, ok := s.queue.TryClaim()
	require.True(t, ok)
	s.adder.Add(s.request("between"), "a")
	require.NoError(t, s.tracer.Handle(func(context.Context, string) error { return nil })(context.Background(), claim.Item))
	require.Equal(t, []string{"before", "between"}, s.linked(s.attempts()[0]))
	require.NoError(t, claim.Done())
	require.Contains(t, s.linked(s.step()), "between")
}

func TestLinksAreBounded(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{MaxLinks: 3}, nil)
	for i := range 10 {
		s.adder.Add(s.request(fmt.Sprint(i)), "a")
	}
	s.script.For("a").Fail(1)
	span := s.step()
	require.Equal(t, []string{"7", "8", "9"}, s.linked(span))
	require.Equal(t, int64(7), attributesOf(span)["shardq.links.omitted"])
	s.adder.Add(s.request("10"), "a")
	span = s.step()
	require.Equal(t, []string{"8", "9", "10"}, s.linked(span))
	require.Equal(t, int64(8), attributesOf(span)["shardq.links.omitted"])
}

// A retry serves the adds that the failed attempt has served, and what a
// RequeueAfter asks for serves the attempt that asked.
func TestRetriesAndRequeues(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	s.script.For("a").Return(errOnPurpose).Panic("oops").Return(worker.RequeueAfter(time.Hour))
	s.adder.Add(s.request("add"), "a")
	failed := s.step()
	require.Equal(t, []string{"add"}, s.linked(failed))
	require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "on purpose"}, failed.Status())
	require.Equal(t, "*errors.errorString", attributesOf(failed)["error.type"])
	require.Equal(t, "error", attributesOf(failed)["shardq.result"])
	require.Len(t, failed.Events(), 1)

	panicked := s.step()
	require.Equal(t, []string{"add"}, s.linked(panicked))
	require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "panic: oops"}, panicked.Status())
	require.Equal(t, "panic", attributesOf(panicked)["shardq.result"])
	require.Equal(t, int64(2), attributesOf(panicked)["shardq.attempt"])
	require.Len(t, panicked.Events(), 1)
	stack := attribute.NewSet(panicked.Events()[0].Attributes...)
	text, _ := stack.Value("exception.stacktrace")
	require.Contains(t, text.AsString(), "(*Line).Panic")

	requeued := s.step()
	require.Equal(t, []string{"add"}, s.linked(requeued))
	require.Equal(t, codes.Unset, requeued.Status().Code)
	require.Equal(t, "requeue", attributesOf(requeued)["shardq.result"])
	require.Empty(t, requeued.Events())
	last := s.step()
	require.Equal(t, []string{"process invoices"}, s.linked(last))
	require.True(t, last.Links()[0].SpanContext.Equal(requeued.SpanContext()))
	require.Zero(t, s.tracer.Len())

	s.script.For("b").Goexit()
	s.queue.Add("b")
	require.Equal(t, worker.ErrGoexit.Error(), s.step().Status().Description)
}

// What is canceled, discarded or dropped leaves no link to a later run.
func TestLinksOfWhatDoesNotRun(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	s.adder.Add(s.request("canceled"), "a")
	require.True(t, s.adder.Cancel("a").Ready)
	require.Zero(t, s.tracer.Len())

	s.adder.Add(s.request("canceled by the queue"), "a")
	s.queue.Cancel("a")
	s.adder.Add(s.request("served"), "a")
	require.Equal(t, []string{"served"}, s.linked(s.step()))

	s.script.For("b").Fail(3).Return(worker.Permanent(errOnPurpose))
	s.adder.Add(s.request("discarded"), "b")
	s.driver.RunUntilIdle()
	require.EqualValues(t, 1, s.queue.Stats().Discarded)
	s.adder.Add(s.request("again"), "b")
	permanent := s.step()
	require.Equal(t, []string{"again"}, s.linked(permanent))
	require.Equal(t, "permanent", attributesOf(permanent)["shardq.result"])

	full := shardq.MustNew(shardq.Options[string]{Capacity: 1})
	tracer, err := shardqotel.NewTracer(full, shardqotel.TracerOptions[string]{})
	require.NoError(t, err)
	full.Add("x")
	require.ErrorIs(t, tracer.Adder(full).TryAdd(s.request("full"), "y", shardq.AddOptions{}), shardq.ErrFull)
	require.Zero(t, tracer.Len())
	require.Panics(t, func() { _ = tracer.Link(s.request("panic"), "y", func() error { panic("oops") }) })
	require.Zero(t, tracer.Len())
	full.ShutDown()
	require.ErrorIs(t, tracer.Adder(full).AddContext(s.request("late"), "z", shardq.AddOptions{}), shardq.ErrShutDown)
	require.Zero(t, tracer.Len())
}

// TestAddDuringACancel checks that an add that begins when the queue has
// canceled the item, and returns before Adder.Cancel does, has its link.
func TestAddDuringACancel(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	var adder shardqotel.Adder[string]
	during, ctx := func() {}, s.request("during")
	q := shardq.MustNew(shardq.Options[string]{Shards: 1, OnAdd: func(a stats.Add[string]) {
		if a.Canceled {
			during()
		}
	}})
	tracer, err := shardqotel.NewTracer(q, shardqotel.TracerOptions[string]{Provider: s.provider})
	require.NoError(t, err)
	adder = tracer.Adder(q)
	handle := tracer.Handle(func(context.Context, string) error { return nil })
	for _, before := range []bool{true, false} { // whether a link was kept before
		if before {
			adder.Add(s.request("before"), "a")
		} else {
			q.Add("a")
		}
		during = func() { adder.Add(ctx, "a") }
		require.True(t, adder.Cancel("a").Ready)
		claim, ok := q.TryClaim()
		require.True(t, ok)
		s.attempts()
		require.NoError(t, handle(t.Context(), claim.Item))
		require.Equal(t, []string{"during"}, s.linked(s.attempts()[0]))
		require.NoError(t, claim.Done())
		require.Zero(t, tracer.Len())
	}
}

// What is kept of items that never run goes, however many there are.
func TestItemsAreBounded(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	ctx := s.request("add")
	for i := range 20_000 {
		item := fmt.Sprint(i)
		s.adder.Add(ctx, item)
		s.queue.Cancel(item)
	}
	require.LessOrEqual(t, s.tracer.Len(), 1024)
	require.Zero(t, s.tracer.Forgotten())

	s = newTraced(t, shardqotel.TracerOptions[string]{MaxItems: 10}, nil)
	ctx = s.request("add")
	for i := range 100 {
		s.adder.Add(ctx, fmt.Sprint(i))
	}
	require.Equal(t, 10, s.tracer.Len())
	require.EqualValues(t, 90, s.tracer.Forgotten())
	s.driver.RunUntilIdle()
	require.Zero(t, s.tracer.Len())
	s.adder.Add(ctx, "again")
	require.Len(t, s.linked(s.step()), 1)
}

func TestOptions(t *testing.T) {
	member, err := baggage.NewMember("user", "7")
	require.NoError(t, err)
	carried, err := baggage.New(member)
	require.NoError(t, err)
	var seen string
	s := newTraced(t, shardqotel.TracerOptions[string]{
		Parent: true, Baggage: true, Group: true, Item: func(item string) string { return item[:3] },
	}, func(ctx context.Context, _ string) error {
		seen = baggage.FromContext(ctx).Member("user").Value()
		return nil
	})
	s.adder.Add(s.request("first"), "secret")
	last := s.request("last")
	s.adder.Add(baggage.ContextWithBaggage(last, carried), "secret")
	span := s.step()
	require.Equal(t, trace.SpanContextFromContext(last).SpanID(), span.Parent().SpanID())
	require.Equal(t, trace.SpanContextFromContext(last).TraceID(), span.SpanContext().TraceID())
	require.Equal(t, []string{"first", "last"}, s.linked(span))
	require.Equal(t, "7", seen)
	require.Equal(t, "tenant", attributesOf(span)["shardq.group"])
	require.Equal(t, "sec", attributesOf(span)["shardq.item"])
}

// TestTracerOfACoalescer checks the spans of a coalescer's workers, where the
// Tracer is middleware, and those of batches.
func TestTracerOfACoalescer(t *testing.T) {
	type entry = coalesce.Entry[string, int]
	for _, batchSize := range []int{0, 8} {
		s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
		c := coalesce.MustNew(coalesce.Options[string, int]{
			Merge: func(pending, next int) int { return pending + next },
			Queue: shardq.Options[string]{Name: "views", Shards: 1},
		})
		tracer, err := shardqotel.NewTracer(c.Queue(), shardqotel.TracerOptions[string]{Provider: s.provider})
		require.NoError(t, err)
		for i, page := range []string{"home", "home", "news"} {
			require.NoError(t, tracer.Link(s.request(fmt.Sprint(i)), page, func() error { return c.Put(page, 1) }))
		}
		c.ShutDown()
		sum, linked := 0, []string(nil)
		key := func(e entry) string { return e.Key }
		options := worker.Options[entry]{Workers: 1, BatchSize: batchSize}
		handle := func(_ context.Context, e entry) error {
			sum += e.Value
			return nil
		}
		if batchSize > 0 {
			options.HandleBatch = shardqotel.HandleBatchKeyed(tracer, key, func(ctx context.Context, entries []entry) (errs []error) {
				for _, e := range entries {
					errs = append(errs, handle(ctx, e))
				}
				return errs
			})
		} else {
			options.Handle = shardqotel.HandleKeyed(tracer, key, handle)
		}
		pool, err := worker.New(c, options)
		require.NoError(t, err)
		require.NoError(t, pool.Run(t.Context()))
		for _, span := range s.attempts() {
			require.Equal(t, "process views", span.Name())
			linked = append(linked, s.linked(span)...)
		}
		require.Equal(t, 3, sum)
		require.Equal(t, []string{"0", "1", "2"}, linked)
		require.Zero(t, tracer.Len())
	}
}

// TestFaults checks that a Tracer has a queue and valid options, that an Adder
// adds to the same queue, and that a handler has its functions.
func TestFaults(t *testing.T) {
	options := shardqotel.TracerOptions[string]{}
	for _, missing := range []shardqotel.Keys[string]{nil, (*shardq.Queue[string])(nil)} {
		_, err := shardqotel.NewTracer(missing, options)
		require.EqualError(t, err, "shardqotel: NewTracer was called without a queue")
	}
	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices"})
	_, err := shardqotel.NewTracer(queue, shardqotel.TracerOptions[string]{MaxLinks: -1, MaxItems: -2})
	require.EqualError(t, err, `shardqotel: TracerOptions.MaxLinks is -1: want 0 (the default) or more
shardqotel: TracerOptions.MaxItems is -2: want 0 (the default) or more`)
	other := shardq.MustNew(shardq.Options[string]{Name: "mail"})
	tracer, err := shardqotel.NewTracer(queue, options)
	require.NoError(t, err)
	tracer.Adder(queue).Add(t.Context(), "a")
	require.Zero(t, tracer.Len(), "an add without a span is not kept")
	require.Panics(t, func() { tracer.Adder(nil) })
	require.PanicsWithValue(t, `shardqotel: Tracer.Adder was called with another queue, "mail": want that of the Tracer, "invoices"`,
		func() { tracer.Adder(other) })
	require.Panics(t, func() { tracer.Handle(nil) })
	require.Panics(t, func() { tracer.HandleBatch(nil) })
	require.Panics(t, func() { shardqotel.HandleKeyed(tracer, nil, func(context.Context, int) error { return nil }) })
}

// Each of many concurrent adds is linked by an attempt that began after it.
func TestNoLinkIsLost(t *testing.T) {
	const producers, adds, items = 4, 300, 7
	recorder, unlimited := tracetest.NewSpanRecorder(), sdktrace.NewSpanLimits()
	unlimited.LinkCountLimit = -1
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithRawSpanLimits(unlimited))
	q := shardq.MustNew(shardq.Options[int]{})
	tracer, err := shardqotel.NewTracer(q, shardqotel.TracerOptions[int]{Provider: provider, MaxLinks: 1 << 20})
	require.NoError(t, err)
	workers, stop := context.WithCancel(context.Background())
	var group, pool sync.WaitGroup
	pool.Go(func() {
		_ = q.Run(workers, 4, tracer.Handle(func(context.Context, int) error {
			runtime.Gosched()
			return nil
		}))
	})
	for range producers {
		group.Go(func() {
			for i := range adds {
				ctx, span := provider.Tracer("test").Start(context.Background(), "add")
				tracer.Adder(q).Add(ctx, i%items)
				span.End()
			}
		})
	}
	group.Wait()
	require.NoError(t, q.WaitIdle(t.Context()))
	stop()
	pool.Wait()
	linked := map[trace.SpanID]bool{}
	for _, span := range recorder.Ended() {
		for _, link := range span.Links() {
			linked[link.SpanContext.SpanID()] = true
		}
	}
	require.Len(t, linked, producers*adds)
	require.LessOrEqual(t, tracer.Len(), items)
}

// A batch has one span for all items, and each item keeps its own links.
func TestSpanOfABatch(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	calls := 0
	handle := s.tracer.HandleBatch(func(_ context.Context, items []string) []error {
		switch calls++; calls {
		case 1:
			return []error{nil, errOnPurpose, worker.RequeueAfter(time.Hour)}
		case 2:
			return []error{nil}
		case 3:
			panic("oops")
		}
		return nil
	})
	call := func(items ...string) sdktrace.ReadOnlySpan {
		s.read = len(s.recorder.Ended())
		func() {
			defer func() { _ = recover() }()
			_ = handle(t.Context(), items)
		}()
		return s.attempts()[0]
	}
	s.adder.AddBatch(s.request("both"), []string{"a", "b"}, shardq.AddOptions{})
	s.adder.Add(s.request("c"), "c")
	claims := make([]worker.Claim[string], 3)
	n, err := s.queue.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	require.Equal(t, 3, n)

	first := call("a", "b", "c")
	require.Equal(t, []string{"both", "both", "c"}, s.linked(first))
	require.Equal(t, int64(3), attributesOf(first)["messaging.batch.message_count"])
	require.Equal(t, "1 of 3 items failed", first.Status().Description)
	require.Equal(t, 2, s.tracer.Len(), "b and c run again")

	wrong := call("b", "c")
	require.Equal(t, []string{"both", "process invoices"}, s.linked(wrong))
	require.Equal(t, "there are 1 errors for 2 items", wrong.Status().Description)
	require.Equal(t, "panic: oops", call("b", "c").Status().Description)
	last := call("b", "c")
	require.Equal(t, []string{"both", "process invoices"}, s.linked(last), "after failures of all")
	require.Equal(t, codes.Unset, last.Status().Code)
	require.Zero(t, s.tracer.Len())
}

// TestLinksOfABatchAreBounded checks that the span of a batch says how many
// links its items lack, and has neither a parent nor the name of an item.
func TestLinksOfABatchAreBounded(t *testing.T) {
	s := newTraced(t, shardqotel.TracerOptions[string]{
		MaxLinks: 3, Parent: true, Baggage: true, Group: true, Item: func(item string) string { return item },
	}, nil)
	for i := range 200 {
		s.adder.AddBatch(s.request(fmt.Sprint(i)), []string{"a", "b"}, shardq.AddOptions{})
	}
	s.adder.Add(s.request("c"), "c")
	claims := make([]worker.Claim[string], 3)
	_, err := s.queue.ClaimBatch(t.Context(), claims)
	require.NoError(t, err)
	require.Nil(t, s.tracer.HandleBatch(func(context.Context, []string) []error { return nil })(t.Context(), []string{"a", "b", "c"}))
	span := s.attempts()[0]
	require.Equal(t, []string{"197", "198", "199", "197", "198", "199", "c"}, s.linked(span))
	require.False(t, span.Parent().IsValid())
	require.Equal(t, map[string]any{
		"messaging.system": "shardq", "messaging.operation.type": "process", "messaging.operation.name": "process",
		"messaging.destination.name": "invoices", "messaging.batch.message_count": int64(3), "shardq.result": "success",
		"shardq.links.omitted": int64(2 * 197),
	}, attributesOf(span))
}

// As middleware, the Tracer knows more of the attempt, and what is inside it
// logs with the IDs of the span.
func TestTracerAsMiddleware(t *testing.T) {
	var text bytes.Buffer
	s := newTraced(t, shardqotel.TracerOptions[string]{}, nil)
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	q := shardq.MustNew(shardq.Options[string]{Clock: fake, Ages: true})
	tracer, err := shardqotel.NewTracer(q, shardqotel.TracerOptions[string]{Provider: s.provider})
	require.NoError(t, err)
	driver := shardqtest.Drive(t, q, fake, worker.Options[string]{
		Handle: func(ctx context.Context, _ string) error {
			q.Add("a")
			<-ctx.Done()
			return ctx.Err()
		},
		Use: []worker.Middleware[string]{
			tracer.Handle,
			worker.Log[string](worker.LogOptions{Logger: slog.New(shardqotel.NewLogHandler(slog.NewTextHandler(&text, nil)))}),
		},
		CancelIfAddedAgain: true,
	})
	tracer.Adder(q).AddWith(s.request("add"), "a", shardq.AddOptions{Priority: 3})
	driver.Advance(2 * time.Second)
	_, ok := driver.Step()
	require.True(t, ok)
	span := s.attempts()[0]
	require.Equal(t, int64(3), attributesOf(span)["shardq.priority"])
	require.InDelta(t, 2, attributesOf(span)["shardq.waited"], 0.01)
	require.Equal(t, "interrupted", attributesOf(span)["shardq.result"])
	require.Equal(t, codes.Unset, span.Status().Code)
	require.Contains(t, text.String(), span.SpanContext().TraceID().String())
	driver.Step()
	require.Equal(t, []string{"add"}, s.linked(s.attempts()[0]), "the adds of an interrupted attempt")
}
