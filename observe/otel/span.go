package shardqotel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/shardq/shardq/worker"
)

// An Attempt describes the span of [Process].
type Attempt struct {
	// Provider makes the tracer. Defaults to the global provider.
	Provider trace.TracerProvider
	// Queue is the name of the queue, and Number that of the attempt, from 1.
	Queue  string
	Number int
	// Links are the spans that asked for the attempt: see [RemoteLinks].
	Links []trace.Link
	// Parent is the parent of the span. Without it, the span begins a trace.
	Parent     trace.SpanContext
	Attributes []attribute.KeyValue // more attributes of the span

	tracer trace.Tracer // in place of the Provider
}

// Process calls handle in a span of the kind consumer, named "process" and the
// queue, and returns its error. The span's shardq.result is success, error,
// permanent, panic, requeue or interrupted. A panic or a runtime.Goexit of
// handle is recorded, and goes on.
//
// Process is exported for queues whose adds a [Tracer] cannot see, such as
// those of package cluster.
func Process(ctx context.Context, a Attempt, handle func(context.Context) error) error {
	ctx, span := a.start(ctx)
	defer func() { span.End() }() // End itself must not recover a panic: see endOfPanic
	returned := false
	defer func() {
		if !returned {
			endOfPanic(span, recover())
		}
	}()
	err := handle(ctx)
	endOf(ctx, span, err) // calls methods of the error, which may panic
	returned = true
	return err
}

func (a Attempt) start(ctx context.Context) (context.Context, trace.Span) {
	name := "process"
	attributes := []attribute.KeyValue{ // of the semantic conventions for messaging
		attribute.String("messaging.system", "shardq"),
		attribute.String("messaging.operation.type", "process"), attribute.String("messaging.operation.name", "process"),
	}
	if a.Queue != "" {
		name += " " + a.Queue
		attributes = append(attributes, attribute.String("messaging.destination.name", a.Queue))
	}
	if a.Number > 0 {
		attributes = append(attributes, attribute.Int("shardq.attempt", a.Number))
	}
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(a.Links...),
		trace.WithAttributes(append(attributes, a.Attributes...)...),
	}
	if a.Parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, a.Parent)
	} else {
		options = append(options, trace.WithNewRoot())
	}
	tracer := a.tracer
	if tracer == nil {
		tracer = tracerOf(a.Provider)
	}
	return tracer.Start(ctx, name, options...)
}

func tracerOf(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return provider.Tracer(Scope)
}

func endOf(ctx context.Context, span trace.Span, err error) {
	result, failed := "error", false
	_, requeued := worker.RequeueDelay(err)
	switch {
	case err == nil:
		result = "success"
	case requeued:
		result = "requeue"
	case worker.Interrupted(ctx, err) != nil:
		result = "interrupted"
	case worker.IsPermanent(err):
		result, failed = "permanent", true
	default:
		failed = true
	}
	span.SetAttributes(attribute.String("shardq.result", result))
	if failed {
		span.SetAttributes(attribute.String("error.type", fmt.Sprintf("%T", err)))
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
}

// endOfPanic is called where the stack still has the frames of the panic.
func endOfPanic(span trace.Span, recovered any) {
	err, stack := worker.ErrGoexit, []trace.EventOption(nil)
	if recovered != nil {
		err = fmt.Errorf("panic: %v", recovered)
		stack = append(stack, trace.WithAttributes(attribute.String("exception.stacktrace", string(debug.Stack()))))
	}
	span.SetAttributes(attribute.String("shardq.result", "panic"))
	span.RecordError(err, stack...)
	span.SetStatus(codes.Error, err.Error())
	if recovered != nil {
		panic(recovered)
	}
}

// RemoteLinks returns links to the spans whose contexts a propagator has
// written into the headers of messages.
func RemoteLinks[H ~map[string][]string](propagator propagation.TextMapPropagator, headers ...H) (links []trace.Link) {
	for _, header := range headers {
		ctx := propagator.Extract(context.Background(), propagation.HeaderCarrier(map[string][]string(header)))
		if span := trace.SpanContextFromContext(ctx); span.IsValid() {
			links = append(links, trace.Link{SpanContext: span})
		}
	}
	return links
}

// NewLogHandler returns a handler that adds trace_id and span_id to each record
// whose context has a span, and passes it to next.
func NewLogHandler(next slog.Handler) slog.Handler { return logHandler{next} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record = record.Clone()
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

func (h logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attributes)}
}
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
